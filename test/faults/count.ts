import { followPath } from '../../domain/evidence/path.js';
import { eventually } from '../support/processes.js';
import type { System } from '../support/system.js';
import { expectStatus, type PatientCalls } from './calls.js';
import type { Load, Played } from './load.js';
import { countNews, marked, untilTold, waitMs, written } from './looks.js';
import { heldInTarget } from './targets.js';

/** What must be 0 after any outage, and out of how many. */
export interface Counts {
  requests: number;
  acknowledged: number;
  acknowledged_lost: number;
  writes_twice: number;
  told_wrongly: number;
  stuck: number;
  paths_broken: number;
  audit_events: number;
  audit_chain_valid: boolean;
}

interface Stored {
  id: string;
  status: string;
  key: string | null;
  events: Parameters<typeof followPath>[0];
}

/** Waits for a while until nothing is under way, then counts. Each finding is a sentence about one request. */
export async function countAll(system: System, calls: PatientCalls, { played, prefix, refused }: Omit<Load, 'stop'>) {
  const stuck = await stuckAfter(system, calls, 3 * waitMs);
  const stored = new Map((await listStored(system)).map((one) => [one.id, one]));
  const [words, markers] = await Promise.all([written(system), marked(system)]);
  const lost = played.flatMap((one) => lostOf(one, stored.get(one.id)));
  const told = new Set(played.map(({ id }) => id));
  const doubled = [...stored.values()].filter(({ id, key }) => key?.startsWith(prefix) && !told.has(id));
  const twice = [...Object.entries(words), ...Object.entries(markers)].flatMap(([what, count]) =>
    count === 1 ? [] : [`${what} was written ${count} times`],
  );
  twice.push(...doubled.map(({ id }) => `${id} is stored, and nobody was told of it`));
  const wrong = played.flatMap(({ id, word }) => wronglyTold(stored.get(id), word, words));
  const broken = [...stored.values()].flatMap(brokenPath);
  const log = expectStatus(await calls.call(system.tokens.admin, 'GET', '/api/audit/verify'), 200);
  const counts: Counts = {
    requests: played.length,
    acknowledged: played.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0),
    acknowledged_lost: lost.length,
    writes_twice: twice.length,
    told_wrongly: wrong.length,
    stuck: stuck.length,
    paths_broken: broken.length,
    audit_events: Number(log.total_events),
    audit_chain_valid: log.valid === true,
  };
  const chain = log.valid === true ? [] : [`the audit log is not valid: ${log.reason} at ${log.first_broken_seq}`];
  return { counts, findings: [...refused, ...lost, ...twice, ...wrong, ...stuck, ...broken, ...chain] };
}

/** Everything that was acknowledged is an event of the log. */
function lostOf({ id, acknowledged }: Played, stored: Stored | undefined): string[] {
  const events = new Set(stored?.events.map(({ event_type }) => event_type));
  return acknowledged.filter((type) => !events.has(type)).map((type) => `${id}: ${type} was acknowledged and is gone`);
}

/** What is executed is in the target, and nothing else is. */
function wronglyTold(stored: Stored | undefined, word: string | null, words: Readonly<Record<string, number>>): string[] {
  if (stored === undefined || word === null || (stored.status === 'executed') === Object.hasOwn(words, word)) return [];
  return [`${stored.id} is ${stored.status}, and what it writes is ${Object.hasOwn(words, word) ? '' : 'not '}there`];
}

/** What is wrong with the story that its events tell. */
export function brokenPath({ id, status, events }: Stored): string[] {
  const path = followPath(events);
  if (path.fault !== null) return [`${id}: ${path.fault.message}`];
  return path.status === status ? [] : [`${id} is ${status}, by its events ${path.status}`];
}

export async function listStored({ database }: System): Promise<Stored[]> {
  const { rows } = await database.query<Stored>(
    `select r.id, r.status, r.idempotency_key as key, coalesce(json_agg(json_build_object('event_type', a.event_type, 'metadata_json', a.metadata_json, 'seq', a.seq)
       order by a.seq nulls last, a.position) filter (where a.id is not null), '[]') as events
     from requests r left join audit_events a on a.request_id = r.id group by r.id`,
  );
  return rows;
}

/** What is still under way once nothing changes any more, or the time is over. */
async function stuckAfter(system: System, calls: PatientCalls, ms: number): Promise<string[]> {
  let stuck: string[] = ['nobody could look'];
  const look = async () => {
    stuck = [...(await underWay(system)), ...(await outOfStep(system, calls))];
    return stuck.length === 0;
  };
  // A connection of a pool may be one that an outage has broken.
  const isOver = () => look().catch(() => false);
  await untilTold(system).catch(() => {});
  await eventually(isOver, ms).catch(() => {});
  return stuck;
}

/** Clocks that ran out this long ago should have fired. */
const clockGraceSecs = 10;

async function underWay(system: System): Promise<string[]> {
  const { rows } = await system.database.query<{ id: string; status: string }>(
    `select id, status from requests where status in ('dispatched', 'running', 'execution_lost')
       or status = 'pending' and expires_at < clock_timestamp() - $1 * interval '1 second'
       or status = 'approved' and dispatch_by < clock_timestamp() - $1 * interval '1 second'`,
    [clockGraceSecs],
  );
  const unsealed = await system.database.query<{ count: number }>(
    'select count(*)::int as count from audit_events where seq is null',
  );
  const target = await system.target.query<{ n: string }>(heldInTarget);
  const counted = {
    'news that nobody was told': await countNews(system),
    'events that are not sealed': unsealed.rows[0]!.count,
    'transactions and locks left in the target': Number(target.rows[0]!.n),
  };
  const left = Object.entries(counted).filter(([, count]) => count > 0);
  return [...rows.map(({ id, status }) => `${id} is ${status}`), ...left.map(([what, count]) => `${count} ${what}`)];
}

const askedAtOnce = 20;

/** Requests whose workflow tells something else; of ended ones a sample. */
async function outOfStep(system: System, calls: PatientCalls): Promise<string[]> {
  const { rows } = await system.database.query<{ id: string }>(
    `select id from requests order by status in ('pending', 'approved') desc, id limit 1000`,
  );
  const found: string[] = [];
  for (let n = 0; n < rows.length; n += askedAtOnce) {
    const some = rows.slice(n, n + askedAtOnce);
    const seen = await Promise.all(some.map(({ id }) => calls.workflow(id)));
    found.push(...some.flatMap(({ id }, index) => (seen[index]!.in_step ? [] : [`the workflow of ${id} is not in step`])));
  }
  return found;
}
