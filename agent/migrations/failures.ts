import type { CancelControl } from '../cancel-control.js';
import type { Attempt } from '../drivers/engine.js';
import { Interrupted } from '../drivers/faults.js';
import { undo } from '../drivers/guard.js';
import type { Session } from '../drivers/session.js';
import type { FailureOutcome } from '../outcome.js';
import type { StepFailure } from './engine.js';
import { type Failure, failed } from './results.js';
import type { Direction } from './task.js';

/** What is running, for its failure text. The text begins with these words, so its start holds no data (AU-53). */
export interface Position {
  subject: string;
  /** The subject, or which part of it. */
  place: string;
  /** From `performance.now()`. */
  begunAt: number;
}

/** The position of a statement that begins now, counted from 1. */
export function positionOf(version: string, statement: number, statements: number): Position {
  const subject = `version ${version}`;
  const place = statements > 1 ? `${subject}, statement ${statement} of ${statements}` : subject;
  return { subject, place, begunAt: performance.now() };
}

/** The failure of a cancelled migration, once it is certain that none of it remains (MI-34). */
export function cancelFailure(control: CancelControl, outcome: FailureOutcome, subject: string): Failure {
  if (control.reason === 'deadline') return failed(outcome, timedOut(subject, 'the database did not answer in time'));
  if (control.reason === 'stopped') return failed(outcome, 'agent stopped');
  return { outcome, why: 'migration cancelled', cancelled: true };
}

/** Why a statement failed, in words. */
export function whyFailed<S extends Session>(error: unknown, { run, target }: Attempt<S>, at: Position): string {
  const { errors } = target.engine;
  const reason = errors.reason(error);
  const isTimeout = errors.isTimeout(error, run, performance.now() - at.begunAt);
  return isTimeout ? timedOut(at.subject, reason) : `${at.place}: ${reason}`;
}

const timedOut = (subject: string, reason: string) => `migration timed out (${subject}): ${reason}`;

/**
 * Rolls back a migration that failed before its COMMIT was sent, and returns how it ended; `note` is added to the database's
 * message.
 */
export async function undoMigration<S extends Session>(
  error: unknown,
  attempt: Attempt<S>,
  at: Position,
  note = '',
): Promise<StepFailure> {
  const why = error instanceof Interrupted ? 'migration cancelled' : `${whyFailed(error, attempt, at)}${note}`;
  switch (await undo(error, attempt)) {
    case 'cancelled':
      return { failure: cancelFailure(attempt.run.control, 'rolled_back', at.subject), error };
    case 'cancel not confirmed':
      return { failure: failed('unknown', `cancel not confirmed (${at.subject})`), error };
    case 'kept':
      return { failure: failed('partial', `${why}; changes in tables without transactions stay`), error };
    case 'rolled_back':
      return { failure: failed('rolled_back', why), error };
  }
}

/** Words for a migration that may or may not have taken effect (MI-35). */
export const halfApplied = (version: string) =>
  `migration ${version} may be half applied; check the database, then use migrate repair`;

/** Words for a change in effect whose version row could not be written (MI-38). */
export function partiallyApplied(version: string, direction: Direction, reason: string): string {
  const action = direction === 'up' ? 'mark-applied' : 'remove';
  return `migration partially applied (version ${version}): ${reason}; to set it right: svc migrate repair --action ${action} --version ${version} --emergency --reason WHY`;
}
