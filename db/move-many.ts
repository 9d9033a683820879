import type { StoredRequest } from '../domain/request/types.js';
import type { Change, Verdict } from '../domain/request/verdict.js';
import { viewOf } from '../domain/request/view.js';
import { auditInsert, auditRowsOf } from './audit.js';
import type { Transaction } from './client.js';
import { dryRunEndOfMany } from './dry-run-jobs.js';
import { apply } from './move.js';
import { allowedAlways } from './move-statement.js';
import { cancelTopics, movingStatement, stateColumns, subjectOf, waitersOf } from './move-write.js';
import { topic } from './notifications.js';
import { lockOpenOf, type OpenPart } from './open-requests.js';
import { yieldingInsert } from './outbox.js';
import { outgoingInsert, yielding } from './outgoing.js';
import { parameters } from './parameters.js';
import { listStates } from './request-state.js';

/** What a bulk move did to one request; no more, since there may be very many. */
export interface MovedOne {
  id: string;
  before: StoredRequest['status'];
  after: StoredRequest['status'];
  database: string;
  environment: string;
  changed: boolean;
}

// One statement writes a batch; both bounds keep what is in memory at once small.
const maxBatch = 500;
const maxBatchBytes = 16 * 1024 * 1024;

/**
 * `move` for what a user has open, whose row this transaction has locked: the requests are locked by id, then judged and written a
 * batch at a time. The decision must leave decisions alone and refuse nothing, and few may change an execution; its news yields to all other news.
 */
export async function moveAllOf(
  tx: Transaction,
  owner: string,
  decide: (request: StoredRequest, now: number) => Verdict,
  part: OpenPart = {},
): Promise<MovedOne[]> {
  const moved: MovedOne[] = [];
  for (const ids of batches(await lockOpenOf(tx, owner, part))) {
    const judged = (await listStates(tx, ids)).map(({ request, now }) => judgedOne(request, decide(request, now), now));
    for (const one of judged) if (one.change?.execution) writeAlone(tx, one, one.change);
    const together = judged.filter(({ change }) => change !== null && change.execution === null);
    if (together.length > 0) await write(tx, together);
    moved.push(...judged.map(outlineOf));
  }
  if (moved.some(({ changed }) => changed)) tx.wake(topic.outbox);
  return moved;
}

interface Judged {
  before: StoredRequest;
  after: StoredRequest;
  change: Change | null;
  now: number;
}

function judgedOne(before: StoredRequest, { change, refusal }: Verdict, now: number): Judged {
  if (refusal !== null) throw refusal;
  if (change !== null && (change.decision !== null || change.signal === null))
    throw new Error('a bulk move decides nothing and has news');
  return { before, after: change === null ? before : apply(before, change, now), change, now };
}

function* batches(locked: readonly { id: string; bytes: number }[]): Generator<string[]> {
  let ids: string[] = [];
  let bytes = 0;
  for (const one of locked) {
    if (ids.length === maxBatch || (ids.length > 0 && bytes + one.bytes > maxBatchBytes)) {
      yield ids;
      ids = [];
      bytes = 0;
    }
    ids.push(one.id);
    bytes += one.bytes;
  }
  if (ids.length > 0) yield ids;
}

/** The statement for many writes no executions. */
function writeAlone(tx: Transaction, { before, after, now }: Judged, change: Change): void {
  const written = { before, after, change, claim: null, now, refused: false, more: undefined };
  const { text, values, topics } = movingStatement(written, tx, (p) => allowedAlways(p, before.id));
  tx.send(text, values);
  tx.wake(...topics);
}

async function write(tx: Transaction, judged: readonly Judged[]): Promise<void> {
  const p = parameters();
  const states = judged.map(({ after }) => ({ id: after.id, ...stateColumns(after, tx.macs) }));
  const sets = Object.keys(stateColumns(judged[0]!.after, tx.macs)).map((column) => `${column} = given.${column}`);
  const events = judged.flatMap(({ after, change }) =>
    (change?.events ?? []).map((draft) => ({ draft, subject: subjectOf(after) })),
  );
  const texts = [
    `moved as (update requests r set ${sets.join(', ')} from jsonb_populate_recordset(null::requests, ${p.add(JSON.stringify(states))}::jsonb) as given
      where r.id = given.id returning r.id)`,
    auditInsert(p.add(auditRowsOf(events))),
    yieldingInsert(p.add(JSON.stringify(judged.map(newsOf)))),
    dryRunEndOfMany(p, judged.map(outlineOf)),
  ];
  const outgoing = judged.map(({ after, change }) => tx.outgoingOf(change?.events ?? [], { request: after, detail: null }));
  const told = outgoingInsert(p, yielding(outgoing), 'moved');
  await tx.query(`with ${[...texts, ...told.parts].join(', ')} select 1`, p.values);
  tx.wake(...told.topics);
  for (const { after } of judged) tx.wake(...waitersOf(after), ...cancelTopics(after));
}

const newsOf = ({ after, change, now }: Judged) => ({
  request_id: after.id,
  version: after.version,
  signal: change?.signal?.name,
  actor: change?.signal?.actor,
  step: change?.signal?.step,
  view: viewOf(after, now),
});

const outlineOf = ({ before, after, change }: Judged): MovedOne => ({
  id: after.id,
  before: before.status,
  after: after.status,
  database: after.database,
  environment: after.environment,
  changed: change !== null,
});
