import { anySignal } from '../../lib/signals.js';
import type { Context } from '../context.js';
import { CommandFailure, failure, noOutcome } from '../failure.js';
import { confirm } from '../prompt.js';
import { isInteractive } from '../terminal.js';
import { type FollowTask, follow } from './follow.js';
import type { Followed } from './outcome.js';

/** What to follow. On a terminal, Ctrl-C offers to cancel it unless that is disabled (CL-26). Other signals come from nobody who could answer. */
export interface InterruptibleTask extends Omit<FollowTask, 'signal'> {
  offersCancel?: boolean;
}

/** `follow` under `--timeout` (seconds, 0 = none; CL-24) and Ctrl-C. */
export function followInterruptibly(context: Context, task: InterruptibleTask, timeoutSecs: number): Promise<Followed> {
  const onInterrupt = task.offersCancel === false ? null : () => interrupted(context, task.id);
  const limits = { id: task.id, timeoutSecs, again: 'wait', onInterrupt };
  return untilStopped(context, limits, (signal) => follow(context, { ...task, signal }));
}

interface StopLimits<T> {
  id: string;
  timeoutSecs: number;
  /** The command of `svc request` that goes on from here. */
  again: string;
  /** What Ctrl-C does; null leaves the request alone. */
  onInterrupt: (() => Promise<T>) | null;
}

/** Waits for a request until the time is over or somebody presses Ctrl-C; both failures say that the request continues. */
export async function untilStopped<T>(
  context: Context,
  { id, timeoutSecs, again, onInterrupt }: StopLimits<T>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer =
    timeoutSecs > 0
      ? setTimeout(
          () => late.abort(goesOn('timeout', `${context.what}: not finished within ${timeoutSecs} s`, id, again)),
          timeoutSecs * 1000,
        )
      : undefined;
  const { signal, release } = anySignal([context.signal, late.signal]);
  try {
    return await work(signal);
  } catch (error) {
    named(error, id);
    if (!(error instanceof CommandFailure) || error.code !== 'interrupted') throw error;
    clearTimeout(timer);
    if (onInterrupt === null || error.reason !== 'SIGINT')
      throw named(goesOn('interrupted', `${context.what}: interrupted`, id, again), id);
    return await onInterrupt().catch((after: unknown) => {
      throw named(after, id);
    });
  } finally {
    clearTimeout(timer);
    release();
  }
}

/** Scripts need the id of the request, whatever became of it. */
function named(error: unknown, id: string): unknown {
  if (error instanceof CommandFailure) error.requestId = id;
  return error;
}

function goesOn(code: 'timeout' | 'interrupted', message: string, id: string, again: string): CommandFailure {
  return failure(code, `${message}; request ${id} continues`, {
    data: JSON.stringify({ request_id: id }),
    hint: `svc request ${again} ${id}`,
  });
}

async function interrupted(context: Context, id: string): Promise<Followed> {
  const { terminal, output, what } = context;
  const left = () => goesOn('interrupted', `${what}: interrupted`, id, 'wait');
  if (output.mode !== 'human' || !isInteractive(terminal)) throw left();
  const unending = new AbortController().signal;
  terminal.stderr.write('\n');
  if (!(await confirm(terminal, 'Cancel the request?', unending))) throw left();
  const call = {
    method: 'POST',
    path: ['api', 'requests', id, 'cancel'],
    body: JSON.stringify({ reason: 'cancelled by user (Ctrl-C)' }),
    accept: [409],
    signal: unending,
  } as const;
  const reply = await context
    .client()
    .call(call)
    .catch((error: unknown) => {
      throw error instanceof CommandFailure && noOutcome.includes(error.code) ? openCancel(error, id) : error;
    });
  if (reply.status === 200) throw cancelled(what, id);
  return outcomeOfCancel(context, id, unending);
}

/** No answer tells what became of the cancel. */
function openCancel({ code, message }: CommandFailure, id: string): CommandFailure {
  return new CommandFailure(code, message, {
    hint: `it is not known whether the request was cancelled: svc request show ${id}`,
    data: JSON.stringify({ request_id: id }),
  });
}

/** The request itself tells its outcome: a statement that committed first is never reported as cancelled (CL-I6). */
async function outcomeOfCancel(context: Context, id: string, signal: AbortSignal): Promise<Followed> {
  const task = { id, status: null, approvers: [], waitForApproval: false, resume: false, resumeAfterTimeout: false, signal };
  try {
    const followed = await follow(context, task);
    context.output.note('the request had already run before it could be cancelled');
    return followed;
  } catch (error) {
    throw error instanceof CommandFailure && error.code === 'cancelled' ? cancelled(context.what, id) : error;
  }
}

function cancelled(what: string, id: string): CommandFailure {
  return failure('interrupted', `${what}: the request was cancelled`, {
    data: JSON.stringify({ request_id: id, status: 'cancelled' }),
  });
}
