import type { UserCaller } from '../domain/caller.js';
import type { Status } from '../domain/request/types.js';
import type { RiskLevel } from '../domain/workflow-policy.js';
import type { Queryable } from './client.js';
import { type Parameters, parameters } from './parameters.js';
import type { Mark } from './request-blocks.js';
import { anyOf, type Branches, isDecidedBy, narrowed, newestFirst, selectKeys, unionOf } from './request-branch.js';
import { compared } from './request-places.js';
import { approvable } from './request-visibility.js';
import { isNewer, noneWait, type Waiting } from './request-waiting.js';

export interface ListedRequest {
  id: string;
  requester: string;
  database: string;
  environment: string;
  operation: string;
  /** Null for one that is sent apart: the texts of a page may have many MiB. */
  detail: string | null;
  /** Of one that is sent apart: how many bytes it has in JSON. */
  detail_bytes: number | null;
  risk_level: RiskLevel;
  status: Status;
  reason: string | null;
  emergency: boolean;
  created_at: number;
  updated_at: number;
  expires_at: number | null;
  current_step: number;
  total_steps: number;
  step_selectors: string[];
  /** The caller has approved or rejected it. */
  decided: boolean;
  /** The caller can approve it now (RQ-36). */
  can_decide: boolean;
}

/** How much text of a page is read with it. */
const heldBytes = 1024 * 1024;
const isHeld = `sum(octet_length(r.detail)) over (order by r.created_at desc, r.id desc) <= ${heldBytes}`;
const inJson = 'to_json(r.detail)::text';

export const columns = (
  caller: UserCaller,
  p: Parameters,
) => `r.id, r.requester, r.database, r.environment, r.operation, case when ${isHeld} then r.detail end as detail,
  case when ${isHeld} then null else octet_length(${inJson}) end as detail_bytes, r.risk_level, r.status, r.reason, r.emergency, r.created_at, r.updated_at, r.expires_at,
  r.current_step, coalesce(jsonb_array_length(r.workflow->'steps'), 0) as total_steps, r.step_selectors,
  ${isDecidedBy(p.add(caller.id))} as decided, (${approvable(caller, p)}) as can_decide`;

export interface Page {
  limit: number;
  offset: number;
}

/** Whose page of which requests. */
export interface Wanted {
  caller: UserCaller;
  branches: Branches;
  /** The same set in conditions by which PostgreSQL expects its size better; the branches if absent. */
  estimated?: Branches;
}

/** Where a page is read from; without a mark, from the newest. */
export interface Start {
  mark: Mark | null;
  waiting: Waiting;
  /** How many the branches have, where that is known. */
  others?: number;
}

export const fromNewest: Start = { mark: null, waiting: noneWait };

/** Each branch returns no more keys than the page can reach. The table is read only for the page's rows. */
export async function readPage(
  db: Queryable,
  { caller, branches }: Wanted,
  { limit, offset, total }: Page & { total: number },
  { mark, waiting: known, others = Number.POSITIVE_INFINITY }: Start,
): Promise<ListedRequest[]> {
  if (limit === 0 || offset >= total) return [];
  const p = parameters();
  const from = mark === null ? 'true' : compared('<=', mark, p);
  const older = mark === null ? known.keys : known.keys.filter((key) => !isNewer(key, mark));
  const passed = offset - (mark?.newer ?? 0) - (known.keys.length - older.length);
  // At least so many of those that wait precede the page, even if all others do.
  const before = Math.max(passed - others, 0);
  const skipped = passed - before;
  const reach = p.add(skipped + limit);
  const selects = branches(p).map((branch) => `${selectKeys(narrowed(branch, from))} ${newestFirst} limit ${reach}`);
  if (older.length > 0) {
    const ids = p.add(older.slice(before, passed + limit).map(({ id }) => id));
    // Asked again: what was decided meanwhile must not be shown. `offset 0` keeps PostgreSQL from a look at all that waits.
    selects.push(
      `select r.created_at, r.id from (select * from requests where id = any(${ids}::uuid[]) offset 0) as r where ${anyOf(known.conditions(p))}`,
    );
  }
  return db.query<ListedRequest>(
    `select ${columns(caller, p)} from (select id from (${unionOf(selects)}) as keys ${newestFirst} limit ${p.add(limit)} offset ${p.add(skipped)}) as page
       join requests r using (id) order by r.created_at desc, r.id desc`,
    p.values,
  );
}

/** The text of a request in JSON, of `detail_bytes` bytes. */
export async function readDetail(db: Queryable, id: string): Promise<string> {
  const [row] = await db.query<{ text: string }>(`select ${inJson} as text from requests r where r.id = $1`, [id]);
  if (row === undefined) throw new Error(`request ${id} was purged while its list was sent`);
  return row.text;
}
