import { databaseError } from '../../lib/database-error.js';
import type { JsonText } from '../../lib/json/read.js';
import { sleep } from '../../lib/sleep.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { type CommandFailure, failure } from '../failure.js';
import { canRedraw } from '../terminal.js';
import { withContinuation } from './follow.js';
import { endedFailure } from './outcome.js';
import { awayNotes, patiently } from './patience.js';
import { type Display, progressDetail, redrawnLine } from './progress.js';
import { lookAtRequest, type RequestView } from './request-view.js';

/**
 * Looks at a request until it has ended, and does nothing to it: returns it when it was executed, else throws the failure of its
 * end. An approval that leaves it pending is seen with the next look, at most 30 s later.
 */
export async function watch(given: Context, id: string, signal: AbortSignal): Promise<RequestView> {
  const display = displayOf(given, id);
  const context = patiently(given, (reason) => display?.away(reason));
  try {
    const view = await lastView(context, id, signal, display);
    if (view.status === 'executed') return view;
    throw view.status === 'failed' ? await failedRun(context, id, view, signal) : await endedFailure(context, id, view, signal);
  } catch (error) {
    throw withContinuation(error, id, 'watch');
  } finally {
    display?.stop();
  }
}

async function lastView(context: Context, id: string, signal: AbortSignal, display: Display | null): Promise<RequestView> {
  const { terminal } = context;
  let view = await lookAtRequest(context, id, null, signal);
  for (;;) {
    display?.show(view);
    if (!moving.has(view.status)) return view;
    const before = view.status;
    const startedAt = terminal.now();
    view = await lookAtRequest(context, id, before, signal);
    const left = terminal.limits.paceMs - (terminal.now() - startedAt);
    if (view.status === before && left > 0) await sleep(left, signal);
    signal.throwIfAborted();
  }
}

const moving = new Set(['pending', 'approved', 'dispatched', 'running']);

/** On a terminal one line that is redrawn; elsewhere the changes are what the command prints; in `json` and `quiet` nothing. */
function displayOf(context: Context, id: string): Display | null {
  const { terminal, output } = context;
  if (output.mode !== 'human') return null;
  if (terminal.stdout.isTTY === true && canRedraw(terminal)) return redrawnLine(context, id, detailOf);
  return changedLines(context, id);
}

/** `2026-05-01T09:20:01.500Z running: agent agent-1`. */
function changedLines(context: Context, id: string): Display {
  const { stdout } = context.terminal;
  let previous = '';
  return {
    show(view) {
      const detail = detailOf(view);
      const state = `${visible(view.status)}${detail ? `: ${detail}` : ''}`;
      if (state === previous) return;
      previous = state;
      stdout.write(`${visible(view.updatedAt)} ${state}\n`);
    },
    away: awayNotes(context, id),
    stop: () => undefined,
  };
}

const detailOf = (view: RequestView) => (view.status === 'approved' ? 'not resumed yet' : progressDetail(view));

/** Exit 3 when the database refused it, 1 when nothing ran. The runs tell which, and are open to whoever sees the request. */
async function failedRun(context: Context, id: string, view: RequestView, signal: AbortSignal): Promise<CommandFailure> {
  const runs = await runsOf(context, id, signal).catch((error: unknown) => {
    if (signal.aborted) throw error;
    return null;
  });
  if (runs?.length === 0) {
    const end = await endedFailure(context, id, view, signal);
    return failure('execution_failed', end.message, { hint: end.hint, data: end.data, exit: 1 });
  }
  const told = runs?.[0]?.get('error_message')?.string() ?? 'the statement failed';
  const { message } = databaseError(told, null);
  return failure('execution_failed', `${context.what}: ${message}`, { data: view.text, hint: `svc request show ${id}` });
}

async function runsOf(context: Context, id: string, signal: AbortSignal): Promise<JsonText[]> {
  const reply = await context
    .client()
    .call({ method: 'GET', path: ['api', 'requests', id, 'executions'], query: { limit: 1 }, signal });
  return reply.json().get('executions')?.items() ?? [];
}
