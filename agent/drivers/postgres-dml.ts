import { decideByMarkers } from '../marker.js';
import { failure, type Outcome } from '../outcome.js';
import type { RowsJson } from '../result-json.js';
import { sleep } from '../wait.js';
import type { Run } from './driver.js';
import { runOutsideTransaction } from './postgres-auto.js';
import { commit, tryRequestLock } from './postgres-commit.js';
import { asServerError } from './postgres-errors.js';
import type { Step } from './postgres-exchange.js';
import { checkFlag, failedRun, interruptible, notStarted } from './postgres-guard.js';
import { PREPARED, runForRows } from './postgres-rows.js';
import { type SelectReport, timeoutsStep } from './postgres-select.js';
import type { PostgresSession } from './postgres-session.js';
import { alreadyApplied, committed, countOf, type DmlTarget } from './postgres-written.js';

/** Runs all statements or none under the request lock, with a marker row where the job has one (AP-32, AP-33, AP-53 to AP-55). */
export async function runDml(session: PostgresSession, run: Run, target: DmlTarget): Promise<SelectReport> {
  const auto = run.statements.some((statement) => statement.outsideTransaction);
  try {
    const settled = (await waitForLock(session, run, target)) ?? (await consultMarkers(session, run, target, auto));
    if (settled) return { outcome: settled, error: null };
    checkFlag(run);
    if (!run.mayStart()) return { outcome: failure('not_started', 'token verification failed: token expired'), error: null };
  } catch (error) {
    return { outcome: notStarted(error, run), error };
  }
  return auto ? await runOutsideTransaction(session, run, target) : await runInTransaction(session, run, target);
}

async function waitForLock(session: PostgresSession, run: Run, target: DmlTarget): Promise<Outcome | null> {
  const until = performance.now() + run.fenceWaitMs;
  for (;;) {
    checkFlag(run);
    if (await tryRequestLock(session, run.requestId)) return null;
    if (performance.now() >= until) return failure('unknown', 'an earlier attempt is still running in the database');
    await sleep(target.timings.fenceRetryMs, run.control.signal);
  }
}

async function consultMarkers(session: PostgresSession, run: Run, target: DmlTarget, auto: boolean): Promise<Outcome | null> {
  if (!run.marker) return null;
  try {
    const rows = await target.marker.read(session, run.requestId);
    const decision = decideByMarkers(rows, run.fence, run.unresolvedFences);
    if (decision.act === 'superseded') return failure('not_started', `superseded by attempt ${decision.fence}`);
    if (decision.act === 'unknown') {
      return failure('unknown', `attempt ${decision.fence} may have been applied; check the database`);
    }
    if (decision.act === 'already_applied') return alreadyApplied(decision.fence, decision.rowsAffected);
    if (auto || run.unresolvedFences.length > 0) await session.exchange([target.marker.open(run, auto ? 'auto' : 'tx')]);
    return null;
  } catch (error) {
    if (!asServerError(error)) throw error;
    return failure('not_started', 'marker table not available');
  }
}

async function runInTransaction(session: PostgresSession, run: Run, target: DmlTarget): Promise<SelectReport> {
  const begunAt = performance.now();
  let work: { outcome: Outcome; transactionId: string | null };
  try {
    work = await runStatements(session, run, target);
    checkFlag(run);
  } catch (error) {
    return { outcome: await failedRun(error, session, run, target, begunAt), error };
  }
  return { outcome: await commit(session, run, target, work.transactionId, work.outcome), error: null };
}

async function runStatements(session: PostgresSession, run: Run, target: DmlTarget) {
  // What begins the transaction travels with the first statement.
  let ahead: Step[] = [{ kind: 'run', text: 'begin read write' }, timeoutsStep(run.timeoutSecs, true)];
  if (run.marker) ahead.push(target.marker.open(run, 'tx'));
  let affected = 0;
  let json: RowsJson | null = null;
  for (const [index, statement] of run.statements.entries()) {
    const withRows = statement.producesRows && index === run.statements.length - 1;
    const steps: Step[] = [...ahead, withRows ? prepareStep(statement.text) : runStep(statement.text)];
    ahead = [];
    const last = await interruptible(session, run, target, async () => {
      const result = (await session.exchange(steps)).at(-1);
      return withRows ? await runForRows(session, result?.columns ?? [], run) : { json: null, tag: result?.tag ?? '' };
    });
    affected += countOf(last.tag);
    json = last.json;
  }
  const end: Step[] = [...ahead, ...(run.marker ? [target.marker.done(run, affected)] : [])];
  const results = await session.exchange([
    ...end,
    { kind: 'run', text: 'select pg_catalog.pg_current_xact_id_if_assigned()::text' },
  ]);
  return { outcome: committed(affected, json), transactionId: results.at(-1)?.rows[0]?.[0] ?? null };
}

function prepareStep(text: string): Step {
  return { kind: 'prepare', text, name: PREPARED };
}

function runStep(text: string): Step {
  return { kind: 'run', text, onRow: () => {} };
}
