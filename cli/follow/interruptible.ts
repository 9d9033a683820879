import { anySignal } from '../../lib/signals.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { confirm } from '../prompt.js';
import { isInteractive } from '../terminal.js';
import { type FollowTask, follow } from './follow.js';
import type { Followed } from './outcome.js';

/** What to follow. On a terminal, Ctrl-C offers to cancel it unless that is disabled (CL-26). */
export interface InterruptibleTask extends Omit<FollowTask, 'signal'> {
  offersCancel?: boolean;
}

/** `follow` under `--timeout` (seconds, 0 = none; CL-24) and Ctrl-C. */
export async function followInterruptibly(context: Context, task: InterruptibleTask, timeoutSecs: number): Promise<Followed> {
  const late = new AbortController();
  const timer =
    timeoutSecs > 0
      ? setTimeout(() => late.abort(lateFailure(context.what, task.id, timeoutSecs)), timeoutSecs * 1000)
      : undefined;
  const { signal, release } = anySignal([context.signal, late.signal]);
  try {
    return await follow(context, { ...task, signal });
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.code !== 'interrupted') throw named(error, task.id);
    clearTimeout(timer);
    if (task.offersCancel === false) throw named(goesOn(context.what, task.id), task.id);
    return await interrupted(context, task.id).catch((after: unknown) => {
      throw named(after, task.id);
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

function lateFailure(what: string, id: string, timeoutSecs: number): CommandFailure {
  return failure('timeout', `${what}: not finished within ${timeoutSecs} s; request ${id} continues`, {
    data: JSON.stringify({ request_id: id }),
    hint: `svc request wait ${id}`,
  });
}

function goesOn(what: string, id: string): CommandFailure {
  return failure('interrupted', `${what}: interrupted; request ${id} continues`, {
    data: JSON.stringify({ request_id: id }),
    hint: `svc request wait ${id}`,
  });
}

async function interrupted(context: Context, id: string): Promise<Followed> {
  const { terminal, output, what } = context;
  if (output.mode !== 'human' || !isInteractive(terminal)) throw goesOn(what, id);
  const unending = new AbortController().signal;
  terminal.stderr.write('\n');
  if (!(await confirm(terminal, 'Cancel the request?', unending))) throw goesOn(what, id);
  const reply = await context.client().call({
    method: 'POST',
    path: ['api', 'requests', id, 'cancel'],
    body: JSON.stringify({ reason: 'cancelled by user (Ctrl-C)' }),
    accept: [409],
    signal: unending,
  });
  if (reply.status === 200) throw cancelled(what, id);
  return outcomeOfCancel(context, id, unending);
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
