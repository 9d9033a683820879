import { MAX_STRANGERS, markerRow } from '../../marker.js';
import type { Run } from '../driver.js';
import type { Marker } from '../engine.js';
import { Unexpected } from '../faults.js';
import { asServerError } from './errors.js';
import type { Step, StepResult } from './exchange.js';
import { findOlderTables, type MarkerPlace, prepareMarkerPlace } from './marker-place.js';
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

export function createPostgresMarker(options: { schema: string | null; table: string }): PostgresMarker {
  let place: MarkerPlace = { table: `"${options.table}"`, key: '', older: [] };
  const keyOf = (run: Run) => [run.requestId, String(run.fence), run.step, run.executionId];
  const own = 'request_id = $1 and fence = $2 and step = $3 and execution_id = $4';
  const openStep = (run: Run, mode: string): Step => ({
    kind: 'run',
    // A table of an earlier version has no execution id in its key. A row that conflicts there belongs to no attempt, because a
    // fence has one execution.
    text: `insert into ${place.table} as m (request_id, fence, step, execution_id, mode, state, agent_id, approval_digest)
        values ($1, $2, $3, $4, $5, 'open', $6, $7)
        on conflict on constraint ${place.key} do update set mode = excluded.mode, agent_id = excluded.agent_id, approval_digest = excluded.approval_digest,
          execution_id = excluded.execution_id, state = 'open', rows_affected = null where m.state <> 'done' or m.execution_id <> excluded.execution_id`,
    values: [...keyOf(run), mode, run.agentId, run.approvalDigest],
  });
  return {
    openStep,
    async prepare(session, onlyLook) {
      try {
        const prepared = await prepareMarkerPlace(session, options, onlyLook);
        if ('problem' in prepared) return { problem: prepared.problem, note: null };
        place = prepared.place;
        return { problem: null, note: prepared.note };
      } catch (error) {
        const server = asServerError(error);
        if (!server || server.code.startsWith('57P')) throw error;
        return { problem: `${server.message} (SQLSTATE ${server.code})`, note: null };
      }
    },
    async read(session, run) {
      // An agent of an earlier version may have started writing since this one looked.
      if (run.unresolvedFences.length > 0)
        place = { ...place, older: await findOlderTables(session, options.table, place.table) };
      const results = await session.exchange([place.table, ...place.older].flatMap((table) => readSteps(table, run)));
      return results.flatMap(({ rows }) => rows.map(markerRow));
    },
    open: (session, run, mode) => session.exchange([openStep(run, mode)]),
    done: (run, rowsAffected) => ({
      kind: 'run',
      text: `update ${place.table} set state = 'done', rows_affected = nullif($5, '')::bigint where ${own}`,
      values: [...keyOf(run), rowsAffected === null ? '' : String(rowsAffected)],
    }),
    remove: (run) => ({
      kind: 'run',
      text: `delete from ${place.table} where ${own} and state = 'open'`,
      values: keyOf(run),
    }),
    async deleteOld(session, days) {
      const results = await session.exchange(
        [place.table, ...place.older].map((table) => ({
          kind: 'run',
          text: `delete from ${table} where created_at < now() - make_interval(days => $1)`,
          values: [String(days)],
        })),
      );
      return results.reduce((sum, { tag }) => sum + Number(/^DELETE (\d+)$/.exec(tag ?? '')?.[1] ?? 0), 0);
    },
  };
}

/** All rows of the known attempts and a few others, however many and however long the planted ones are. */
function readSteps(table: string, run: Run): Step[] {
  const told = run.unresolvedExecutions?.map(({ executionId }) => executionId) ?? [];
  const untold = run.unresolvedExecutions === null ? run.unresolvedFences : [];
  const values = [run.requestId, `{${[run.executionId, ...told].join(',')}}`, `{${untold.join(',')}}`];
  const columns = `fence, left(mode, 64), left(state, 64), rows_affected, left(step, 255), left(execution_id, 64), left(approval_digest, 64)`;
  const known = '(execution_id = any($2::text[]) or fence = any($3::bigint[]))';
  const from = `select ${columns} from only ${table} where request_id = $1`;
  return [
    { kind: 'run', text: `${from} and ${known}`, values },
    { kind: 'run', text: `${from} and not ${known} order by fence desc limit ${MAX_STRANGERS}`, values },
  ];
}
