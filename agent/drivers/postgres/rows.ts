import type { RowsJson } from '../../result-json.js';
import type { Run } from '../driver.js';
import { checkFlag } from '../guard.js';
import { rowSink } from '../values.js';
import type { Column, Step } from './exchange.js';
import type { PostgresSession } from './session.js';
import { describeColumns } from './values.js';

const FIRST_BATCH_ROWS = 100;
/** The batch size follows the average row size to reach about this many bytes (AP-72). */
const BATCH_BYTES = 1_048_576;
const MAX_BATCH_ROWS = 20_000;

/** The name of the prepared text that returns rows; `DISCARD ALL` removes it with everything else. */
export const PREPARED = 'svc';
const PORTAL = 'svc';

/**
 * The rows of the prepared text as JSON, fetched through the portal until it ends or a limit is reached (AP-29, AP-71). `guard`
 * follows every batch; its row after the last batch is returned too.
 */
export async function fetchRows(
  session: PostgresSession,
  columns: readonly Column[],
  run: Run,
  guard: Step,
): Promise<{ json: RowsJson; guarded: (string | null)[] | undefined }> {
  const { json, onRow } = rowSink(await describeColumns(columns, session), run);
  let bytes = 0;
  let rows = 0;
  const counted = (fields: (Buffer | null)[]) => {
    rows++;
    bytes += onRow(fields);
  };
  let batch = Math.min(FIRST_BATCH_ROWS, json.wanted);
  let step: Step = { kind: 'open', name: PREPARED, portal: PORTAL, rows: batch, onRow: counted };
  for (;;) {
    const [result, behind] = await session.exchange([step, guard]);
    if (result?.tag !== null || json.full) return { json, guarded: behind?.rows[0] };
    checkFlag(run);
    batch = Math.floor(BATCH_BYTES / Math.max(1, bytes / Math.max(1, rows)));
    batch = Math.max(1, Math.min(batch, MAX_BATCH_ROWS, json.wanted));
    step = { kind: 'fetch', portal: PORTAL, rows: batch, onRow: counted };
  }
}

/** The rows of the prepared text as JSON; the text runs to its end even after a limit is reached (AP-36). */
export async function runForRows(
  session: PostgresSession,
  columns: readonly Column[],
  run: Run,
): Promise<{ json: RowsJson; tag: string }> {
  const { json, onRow } = rowSink(await describeColumns(columns, session), run);
  const [result] = await session.exchange([{ kind: 'open', name: PREPARED, portal: '', rows: 0, onRow }]);
  return { json, tag: result?.tag ?? '' };
}

/** The rows that a command tag counts; a SELECT counts none (AP-36). */
export function countOf(tag: string): number {
  return Number(/^(?:INSERT \d+|UPDATE|DELETE|MERGE|COPY) (\d+)$/.exec(tag)?.[1] ?? 0);
}
