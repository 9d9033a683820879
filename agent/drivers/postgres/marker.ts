import { MAX_STRANGERS, type MarkerRow, markerRow, SINCE, type TableAge, tableAge } from '../../marker.js';
import type { Run } from '../driver.js';
import type { Marker } from '../engine.js';
import { Unexpected } from '../faults.js';
import type { Step, StepResult } from './exchange.js';
import { type MarkerNames, type MarkerPlace, missingBy, prepareMarkerPlace } from './marker-place.js';
import { findHiddenTable, findOlderTables } from './older-markers.js';
import { countOf } from './rows.js';
import type { PostgresSession } from './session.js';

/** The statements on the marker table as steps, so that they travel with others. */
export interface PostgresMarker extends Marker<PostgresSession> {
  openStep(run: Run, mode: 'tx' | 'auto'): Step;
  done(run: Run, rowsAffected: number | null): Step;
  remove(run: Run): Step;
}

/** Throws when the row of `done` did not exist: without it nobody could prove the coming commit. */
export function expectMarked(result: StepResult | undefined): void {
  if (result?.tag !== 'UPDATE 1') throw new Unexpected('the marker row of the attempt is gone');
}

export function createPostgresMarker(names: MarkerNames): PostgresMarker {
  let place: MarkerPlace = { table: `"${names.table}"`, key: '', partitioned: false, older: [] };
  const now = () => ({ schema: names.schema, name: names.table, table: place.table });
  const allOlder = async (session: PostgresSession) => (await findOlderTables(session, now())).map(({ table }) => table);
  const openStep = (run: Run, mode: 'tx' | 'auto') => stepToOpen(place, run, mode);
  return {
    async prepare(session, onlyLook) {
      const prepared = await prepareMarkerPlace(session, names, onlyLook).catch(missingBy);
      if ('problem' in prepared) return { problem: prepared.problem, note: null };
      place = prepared.place;
      return { problem: null, note: prepared.note };
    },
    async read(session, run) {
      const older = run.unresolvedFences.length > 0 ? await allOlder(session) : place.older;
      return await readIn(session, [ownRows(place), ...older.map(rowsOf)], run);
    },
    ownReader() {
      const source = ownRows(place);
      return (session, run) => readIn(session, [source], run);
    },
    async ages(session) {
      return await agesOf(session, [ownRows(place), ...(await allOlder(session)).map(rowsOf)]);
    },
    hidden: (session) => findHiddenTable(session, now()),
    openStep,
    open: (session, run, mode) => session.exchange([openStep(run, mode)]),
    done: (run, rowsAffected) => ({
      kind: 'run',
      text: `update ${place.table} set state = 'done', rows_affected = nullif($5, '')::bigint where ${IS_OWN}`,
      values: [...keyOf(run), rowsAffected === null ? '' : String(rowsAffected)],
    }),
    remove: (run) => ({
      kind: 'run',
      text: `delete from ${place.table} where ${IS_OWN} and state = 'open'`,
      values: keyOf(run),
    }),
    async deleteOld(session, days) {
      const results = await session.exchange([place.table, ...place.older].map((table) => stepToDeleteOld(table, days)));
      return results.reduce((sum, { tag }) => sum + countOf(tag ?? ''), 0);
    },
  };
}

/** Without the rows of tables that inherit from it: whoever made those could plant some. */
const rowsOf = (table: string) => `only ${table}`;
const ownRows = ({ table, partitioned }: MarkerPlace) => (partitioned ? table : rowsOf(table));

async function readIn(session: PostgresSession, sources: readonly string[], run: Run): Promise<MarkerRow[]> {
  const results = await session.exchange(sources.flatMap((source) => stepsToRead(source, run)));
  return results.flatMap(({ rows }) => rows.map(markerRow));
}

async function agesOf(session: PostgresSession, sources: readonly string[]): Promise<TableAge[]> {
  const age = (since: string) => `extract(epoch from clock_timestamp() - ${since}) * '1000'`;
  const ours = 'coalesce(min(created_at) filter (where request_id = $1), min(created_at))';
  const text = (source: string) => `select ${age('min(created_at)')}, ${age(ours)} from ${source}`;
  const results = await session.exchange(sources.map((source): Step => ({ kind: 'run', text: text(source), values: [SINCE] })));
  return results.map(({ rows: [row] }) => tableAge(row));
}

const IS_OWN = 'request_id = $1 and fence = $2 and step = $3 and execution_id = $4';
const keyOf = (run: Run) => [run.requestId, String(run.fence), run.step, run.executionId];

/**
 * A table of an earlier version has no execution id in its key. A row that conflicts there belongs to no attempt, because a fence
 * has one execution.
 */
function stepToOpen({ table, key }: MarkerPlace, run: Run, mode: 'tx' | 'auto'): Step {
  return {
    kind: 'run',
    text: `insert into ${table} as m (request_id, fence, step, execution_id, mode, state, agent_id, approval_digest)
        values ($1, $2, $3, $4, $5, 'open', $6, $7)
        on conflict on constraint ${key} do update set mode = excluded.mode, agent_id = excluded.agent_id, approval_digest = excluded.approval_digest,
          execution_id = excluded.execution_id, state = 'open', rows_affected = null where m.state <> 'done' or m.execution_id <> excluded.execution_id`,
    values: [...keyOf(run), mode, run.agentId, run.approvalDigest],
  };
}

/** All rows of the known attempts and a few others, however many and however long the planted ones are. */
function stepsToRead(source: string, run: Run): Step[] {
  const told = run.unresolvedExecutions?.map(({ executionId }) => executionId) ?? [];
  const untold = run.unresolvedExecutions === null ? run.unresolvedFences : [];
  const values = [run.requestId, `{${[run.executionId, ...told].join(',')}}`, `{${untold.join(',')}}`];
  const columns = `fence, left(mode, 64), left(state, 64), rows_affected, left(step, 255), left(execution_id, 64), left(approval_digest, 64)`;
  const known = '(execution_id = any($2::text[]) or fence = any($3::bigint[]))';
  const from = `select ${columns} from ${source} where request_id = $1`;
  return [
    { kind: 'run', text: `${from} and ${known}`, values },
    { kind: 'run', text: `${from} and not ${known} order by fence desc limit ${MAX_STRANGERS}`, values },
  ];
}

/** From then on the table says that it has rows since `days` ago: it no longer proves what an attempt before that did. */
function stepToDeleteOld(table: string, days: number): Step {
  const since = 'now() - pg_catalog.make_interval(days => $1)';
  const text = `with moved as (update ${table} set created_at = ${since} where request_id = $2 and created_at < ${since})
    delete from ${table} where created_at < ${since} and request_id <> $2`;
  return { kind: 'run', text, values: [String(days), SINCE] };
}
