import { shownPlanError } from '../../domain/plan-error.js';
import type { SchemaSnapshot } from '../../domain/snapshot.js';
import { stopAfter } from '../../lib/deadline.js';
import { endedUnproven, failure, STARTS_TOO_LATE } from '../outcome.js';
import { ConnectFailure, type ExplainReport, type ExplainRun, type Run, type RunReport } from './driver.js';
import type { Attempt, ErrorReader, Report, Target } from './engine.js';
import { Interrupted } from './faults.js';
import { checkFlag, notStarted } from './guard.js';
import type { Session, SessionPool } from './session.js';

/**
 * Runs a job on a pooled session, unless it is cancelled or its token expires before one is free (AP-20, AP-45). `work` calls
 * `onProven` once it knows what earlier attempts did. A run that ends before that is `unknown` (AG-59), because every other
 * outcome says that nothing changed (AG-63).
 */
export async function runInPool<S extends Session, T extends Target<S>>(
  target: T & Target<S>,
  run: Run,
  work: (attempt: Attempt<S, T>, onProven: () => void) => Promise<Report>,
): Promise<RunReport> {
  let proven = false;
  const onProven = () => {
    proven = true;
  };
  const report = await runOnce(target, run, (session) => work({ session, run, target }, onProven));
  return proven ? report : { ...report, outcome: endedUnproven(report.outcome, run.unresolvedFences) };
}

async function runOnce<S extends Session>(
  { pool, engine }: Target<S>,
  run: Run,
  work: (session: S) => Promise<Report>,
): Promise<RunReport> {
  const { errors } = engine;
  const nothing = Promise.resolve();
  let session: S | null;
  try {
    checkFlag(run);
    session = await pool.acquire(run.control.signal);
    if (session === null) throw new Interrupted();
  } catch (error) {
    return { outcome: notStarted(error, run, errors), connectivity: error instanceof ConnectFailure, released: nothing };
  }
  if (run.control.requested) {
    return { outcome: run.control.confirmed('not_started', run.timeoutSecs), connectivity: false, released: session.release() };
  }
  if (!run.mayStart()) {
    const outcome = failure('not_started', STARTS_TOO_LATE);
    return { outcome, connectivity: false, released: session.release() };
  }
  const { outcome, error } = await work(session);
  return { outcome, connectivity: isAway(error, session, errors), released: session.release() };
}

/** A statement can fail with any error of a connection, its own or a made one (AP-15); a database that is away leaves no session. */
const isAway = (error: unknown, { lost }: Session, errors: ErrorReader): boolean =>
  errors.isConnectivityError(error) && (lost || error instanceof ConnectFailure);

/**
 * Plans a statement on a pooled session (AP-60); `plan` returns the server's JSON text, or why the statement is not planned. The
 * connection ends when the job is abandoned, or when its time plus `graceMs` is over.
 */
export async function explainInPool<S extends Session>(
  pool: SessionPool<S>,
  run: ExplainRun,
  errors: ErrorReader,
  { graceMs, plan }: { graceMs: number; plan: (session: S) => Promise<ExplainReport['explained']> },
): Promise<ExplainReport> {
  let session: S | null;
  try {
    session = await acquireWithin(pool, run);
  } catch (error) {
    return failed(errors.errorText(error), error instanceof ConnectFailure);
  }
  if (session === null) return failed('driver error: no connection is free', false);
  const used = session;
  try {
    const explained = await stopAfter(
      run.timeoutMs + graceMs,
      () => used.destroy(),
      () => plan(used),
      run.signal,
    );
    return { explained, hidden: null, connectivity: false };
  } catch (error) {
    return failed(errors.errorText(error), isAway(error, used, errors));
  } finally {
    void session.release();
  }
}

function failed(text: string, connectivity: boolean): ExplainReport {
  const error = shownPlanError(text);
  return { explained: { error }, hidden: error === text ? null : text, connectivity };
}

/**
 * Collects a snapshot on a pooled session (AP-61); throws what `collect` throws, or Interrupted when the signal aborts before a
 * session is free.
 */
export async function snapshotInPool<S extends Session>(
  pool: SessionPool<S>,
  signal: AbortSignal,
  collect: (session: S) => Promise<SchemaSnapshot>,
): Promise<SchemaSnapshot> {
  const session = await pool.acquire(signal);
  if (session === null) throw new Interrupted();
  try {
    return await collect(session);
  } finally {
    await session.release();
  }
}

function acquireWithin<S extends Session>(pool: SessionPool<S>, run: ExplainRun): Promise<S | null> {
  const waited = new AbortController();
  return stopAfter(
    run.timeoutMs,
    () => waited.abort(),
    () => pool.acquire(waited.signal),
    run.signal,
  );
}
