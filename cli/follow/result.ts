import { databaseError } from '../../lib/database-error.js';
import { anySignal } from '../../lib/signals.js';
import { answerFailure, type Reply } from '../client.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { migrationFailure } from './migration-failure.js';
import { endedFailure, type Followed, statementFailure } from './outcome.js';
import type { Progress } from './progress.js';
import { isMigration, lookAtRequest, type RequestView } from './request-view.js';

/** Waits on the result stream and shows progress meanwhile; null when the stream returned nothing (204) or broke (CL-22). */
export async function awaitResult(
  context: Context,
  id: string,
  signal: AbortSignal,
  progress: Progress,
): Promise<Followed | null> {
  const beside = new AbortController();
  const joined = anySignal([signal, beside.signal]);
  const watching = progress.watch(id, joined.signal);
  const reply = await openStream(context, id, signal).finally(() => {
    beside.abort();
    joined.release();
  });
  await watching;
  if (reply === null || reply.status === 204) return null;
  return reply.status === 410 ? notStored(context, id, signal) : judgeEnvelope(context, id, reply, signal);
}

/** The stored result of an ended request. 410 is a success without data only when the request is `executed`. */
export async function storedResult(context: Context, id: string, signal: AbortSignal, executionId?: string): Promise<Followed> {
  const reply = await context.client().call({
    method: 'GET',
    path: ['api', 'requests', id, 'result', 'content'],
    query: { execution_id: executionId },
    signal,
    accept: [404, 410],
  });
  if (reply.status === 410) return notStored(context, id, signal);
  if (reply.status === 404) throw await nothingToShow(context, id, reply, signal);
  return judgeEnvelope(context, id, reply, signal);
}

/** Turns an envelope into the success or failure of its exit code (CL-22, cli.md section 4). */
export async function judgeEnvelope(context: Context, id: string, reply: Reply, signal: AbortSignal): Promise<Followed> {
  const envelope = reply.json();
  const success = envelope.get('success')?.text;
  if (success === 'true') return { id, envelope: reply.text };
  if (success !== 'false') throw failure('server_error', `${context.what}: the server's answer is not a result`);
  const view = await lookAtRequest(context, id, null, signal).catch(() => null);
  const told = envelope.get('error_message')?.string() ?? 'the statement failed';
  const { message, hint } = databaseError(told, view === null ? null : sqlOf(view));
  const nothingRan = envelope.get('execution_id')?.string() === '';
  if (view && ['rejected', 'cancelled', 'expired'].includes(view.status))
    throw await endedFailure(context, id, { ...view, text: reply.text }, signal);
  if (nothingRan) throw failure('execution_failed', `${context.what}: ${message}`, { exit: 1, data: reply.text });
  context.output.note(context.output.noteStyle.dim(`request ${id} failed`));
  if (view && isMigration(view)) throw await migrationFailure(context, id, { envelope: reply, request: view, message }, signal);
  throw statementFailure(context.what, { message, hint }, reply.text);
}

/** The SQL of the request; null for a migration, which has many texts. */
const sqlOf = (view: RequestView): string | null => (isMigration(view) ? null : view.detail);

async function notStored(context: Context, id: string, signal: AbortSignal): Promise<Followed> {
  const view = await lookAtRequest(context, id, null, signal);
  if (view.status !== 'executed') throw await endedFailure(context, id, view, signal);
  context.output.warn('the statement succeeded, but its result was not stored');
  return { id, envelope: null };
}

/** Nothing ran: reports how the request ended; if it has not ended, the server's own words. */
async function nothingToShow(context: Context, id: string, reply: Reply, signal: AbortSignal): Promise<CommandFailure> {
  const view = await lookAtRequest(context, id, null, signal).catch(() => null);
  const hasEnded = view !== null && ['failed', 'rejected', 'cancelled', 'expired', 'execution_lost'].includes(view.status);
  if (!hasEnded) return answerFailure(context.what, reply.status, reply.text);
  const end = await endedFailure(context, id, view, signal);
  return new CommandFailure(end.code, end.message, { hint: end.hint, data: end.data, exit: 1 });
}

async function openStream(context: Context, id: string, signal: AbortSignal): Promise<Reply | null> {
  try {
    return await context.client().call({
      method: 'GET',
      path: ['api', 'requests', id, 'result', 'stream'],
      timeoutMs: context.terminal.limits.streamMs,
      repeatable: false,
      signal,
      accept: [410],
    });
  } catch (error) {
    if (error instanceof CommandFailure && isBroken(error)) return null;
    throw error;
  }
}

/** A broken stream says nothing about the request, nor does a proxy that gave up. */
function isBroken(error: CommandFailure): boolean {
  return (
    error.code === 'network_error' ||
    error.code === 'service.unavailable' ||
    error.code === 'service.draining' ||
    error.code === 'server_error'
  );
}
