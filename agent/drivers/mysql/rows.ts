import type { ClassifiedStatement } from '../../../domain/statement.js';
import type { RowsJson } from '../../result-json.js';
import { cancelStatement } from '../cancel.js';
import type { Run } from '../driver.js';
import { rowSink } from '../values.js';
import type { MysqlRead } from './engine.js';
import { mysqlErrors } from './errors.js';
import type { MysqlSession } from './session.js';
import { runToEnd } from './told-failure.js';
import { describeMysqlColumns } from './values.js';

/** Bytes of excess rows to discard before ending the statement: cheaper than a second connection. */
const THROWN_AWAY_BYTES = 262_144;

/** Runs a text to its end and returns its rows as JSON, within the limits; `onFull` receives the number of bytes beyond them. */
export async function runForMysqlRows(
  session: MysqlSession,
  text: string,
  run: Run,
  onFull?: (bytes: number) => void,
): Promise<{ json: RowsJson; affected: number }> {
  let sink = rowSink(describeMysqlColumns([]), run);
  let behind = 0;
  try {
    const { affected } = await session.run(text, {
      onColumns: (columns) => {
        sink = rowSink(describeMysqlColumns(columns), run);
      },
      onRow: (fields) => {
        const bytes = sink.onRow(fields);
        if (!sink.json.full) return;
        behind += bytes + 1;
        onFull?.(behind);
      },
    });
    return { json: sink.json, affected };
  } catch (error) {
    // Ended because the result is full: the rows so far are the answer.
    if (onFull && sink.json.full && !run.control.requested && mysqlErrors.isInterrupt(error))
      return { json: sink.json, affected: 0 };
    throw error;
  }
}

/** The rows of a read; stops the server when a limit is reached (AP-71). */
export async function readMysqlRows({ session, run, target }: MysqlRead, text: string): Promise<RowsJson> {
  const ended = new AbortController();
  let giveUp: NodeJS.Timeout | undefined;
  const stopSending = (bytes: number) => {
    if (bytes < THROWN_AWAY_BYTES || giveUp !== undefined) return;
    giveUp = setTimeout(() => session.destroy(), target.timings.cancelGiveUpMs);
    cancelStatement(session, target, ended.signal).catch(() => {});
  };
  try {
    return (await runForMysqlRows(session, text, run, stopSending)).json;
  } finally {
    ended.abort();
    clearTimeout(giveUp);
  }
}

/** The SETs among these statements. */
export const settingsOf = (statements: readonly ClassifiedStatement[]): string[] =>
  statements.filter(({ kind }) => kind === 'setting').map(({ text }) => text);

/** Runs one statement of a write; keeps rows only of the last statement. */
export async function runMysqlStatement(
  session: MysqlSession,
  statement: ClassifiedStatement,
  run: Run,
): Promise<{ affected: number; json: RowsJson | null }> {
  const withRows = statement.producesRows && statement === run.statements.at(-1);
  const { affected, json } = withRows
    ? await runForMysqlRows(session, statement.text, run)
    : { ...(await runToEnd(session, statement.text)), json: null };
  return { affected: statement.countsRows ? affected : 0, json };
}
