import type { Operation } from '../domain/policies.js';
import type { ClassifiedStatement, TableName } from '../domain/statement.js';
import type { SqlClassifier, Verdict } from '../sql/classify.js';
import type { ReservedNames } from '../sql/reserved-table.js';
import type { Driver, Run, RunReport } from './drivers/driver.js';
import { readMigrationTask } from './migrations/read-task.js';

/** A job whose detail has passed the gate. */
export interface Gated {
  ok: true;
  statements: readonly ClassifiedStatement[];
  /** Tables as named in the text. */
  changed: readonly TableName[];
  /** Whether the tables may change. */
  changesSchema: boolean;
  carryOut(run: Run): Promise<RunReport>;
}

export type GateVerdict = Gated | { ok: false; why: string };

/** Classifies the detail again with the server's own rules (AP-21, AP-22); it may refuse what the server accepted. */
export async function passGate(
  { operation, detail, timeoutSecs }: { operation: Operation; detail: string; timeoutSecs: number },
  driver: Driver,
  classifier: SqlClassifier,
  names: ReservedNames,
): Promise<GateVerdict> {
  if (operation === 'execute_select' || operation === 'execute_dml') {
    const isRead = operation === 'execute_select';
    const verdict = await classifier.classify(detail, { dialect: driver.dialect, statementTimeoutSecs: timeoutSecs, ...names });
    const why = whyRefused(verdict, isRead);
    if (why !== null || verdict.verdict !== 'accepted') return { ok: false, why: why ?? 'no verdict' };
    const changed = verdict.facts.flatMap((facts) => facts.changed);
    const carryOut = (run: Run) => (isRead ? driver.select(run) : driver.dml(run));
    return { ok: true, statements: verdict.statements, changed, changesSchema: verdict.ddl, carryOut };
  }
  const read = await readMigrationTask(operation, detail, driver.dialect, { classifier, names });
  if (!read.ok) return read;
  const { task } = read;
  return {
    ok: true,
    statements: [],
    changed: [],
    changesSchema: task.kind === 'run',
    carryOut: (run) => driver.migrate(run, task),
  };
}

/** Why a text does not pass, or null. */
function whyRefused(verdict: Verdict, isRead: boolean): string | null {
  if (verdict.verdict === 'empty') return 'no statement';
  if (verdict.verdict === 'refused') return verdict.reason;
  return isRead && verdict.operation !== 'execute_select' ? 'the text is not a read' : null;
}
