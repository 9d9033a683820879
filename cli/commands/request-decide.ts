import { visible } from '../../lib/visible.js';
import { answerFailure } from '../client.js';
import { confirmOnTerminal, requireConfirmation } from '../confirmation.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { lookAtRequest } from '../follow/request-view.js';
import { digits } from '../output/numbers.js';
import type { Answer } from '../output/output.js';
import { decidedText } from '../output/request-content.js';
import { paintStatus } from '../output/style.js';
import { resolveActedId } from '../request-id.js';

export interface ApproveOptions {
  comment?: string;
  as?: string;
}

/** `svc request approve ID`: shows what it is first (CL-18a); a repeated or late approval is `already_approved`. */
export async function approveRequest(context: Context, args: readonly string[], options: ApproveOptions): Promise<Answer> {
  if (options.as !== undefined && !/^(user|group|role):./.test(options.as))
    throw failure('usage', 'request approve: --as takes a selector: user:<id>, group:<name> or role:<name>');
  const id = await resolveActedId(context, args[0]!);
  const shown = await showBefore(context, id, 'Approve it?');
  const body = { ...comment(options), ...shown, ...(options.as === undefined ? {} : { selector: options.as }) };
  const reply = await post(context, { id, action: 'approve', body, accept: [409] }).catch((error: unknown) => {
    throw error instanceof CommandFailure && error.reason === 'selector_ambiguous' ? whichSelector(context, error) : error;
  });
  if (reply.status === 409) throw conflictOfApproval(context, reply.status, reply.text);
  const answer = reply.json();
  const status = answer.get('status')?.string() ?? '';
  const steps = `${digits(answer.get('step_completed')) ?? '?'} of ${digits(answer.get('total_steps')) ?? '?'} steps done`;
  const selector = visible(answer.get('matched_selector')?.string() ?? '');
  const next = status === 'approved' ? `; the requester can now run it: svc request resume ${id}` : '';
  return {
    data: reply.text,
    human: () =>
      `${paintStatus(context.output.style, status === 'approved' ? 'approved' : 'pending')}: ${selector} approved, ${steps}${next}\n`,
  };
}

/** `svc request reject ID`: shows what it is first (CL-18a). */
export async function rejectRequest(context: Context, args: readonly string[], options: { comment?: string }): Promise<Answer> {
  const id = await resolveActedId(context, args[0]!);
  const { expected_digest } = await showBefore(context, id, 'Reject it?');
  const reply = await post(context, { id, action: 'reject', body: { ...comment(options), expected_digest } });
  return { data: reply.text, human: () => `${paintStatus(context.output.style, 'rejected')}: request ${id}\n` };
}

/** `svc request cancel ID`: 202 means that it is still running; reports work that was committed. */
export async function cancelRequest(context: Context, args: readonly string[], options: { reason?: string }): Promise<Answer> {
  const id = await resolveActedId(context, args[0]!);
  const before = await lookAtRequest(context, id, null, context.signal);
  if (before.status === 'running')
    await requireConfirmation(
      context,
      `Request ${id} is running${before.claimedBy === null ? '' : ` on ${visible(before.claimedBy)}`}. Cancel it?`,
      'the request is running',
    );
  const body = options.reason === undefined ? {} : { reason: options.reason };
  const reply = await post(context, { id, action: 'cancel', body, accept: [409] });
  if (reply.status === 409) throw await conflictOfCancel(context, id, reply.status, reply.text);
  const status = reply.json().get('status')?.string() ?? '';
  return { data: reply.text, human: () => cancelText(context, id, reply.status, status) };
}

interface Shown {
  expected_digest?: string;
  expected_step?: number;
}

/** Shows what is about to be decided. Returns the part of the body that binds an approval to what was shown (CO-32, RQ-58). */
async function showBefore(context: Context, id: string, question: string): Promise<Shown> {
  const { output } = context;
  if (output.mode !== 'human') return {};
  const shown: Shown = {};
  try {
    const reply = await context.client().call({ method: 'GET', path: ['api', 'requests', id] });
    const request = reply.json();
    output.note(decidedText(request, output));
    const digest = request.get('approval_digest')?.string();
    const step = Number(request.get('approval_progress')?.get('current_step')?.text);
    if (digest != null) shown.expected_digest = digest;
    if (Number.isInteger(step)) shown.expected_step = step;
  } catch (error) {
    // Deciding takes a selector only; reading takes `request.view` too.
    if (!(error instanceof CommandFailure) || error.code !== 'auth.forbidden') throw error;
    output.note(`You may not read request ${id}, so it is not shown.`);
  }
  await confirmOnTerminal(context, question);
  return shown;
}

function cancelText(context: Context, id: string, httpStatus: number, status: string): string {
  const painted = paintStatus(context.output.style, visible(status));
  if (httpStatus !== 202) return `${painted}: request ${id}\n`;
  const next = context.output.pasteable(`svc request ${status === 'execution_lost' ? 'show' : 'wait'} ${id}`);
  if (status === 'execution_lost')
    return `${painted}: the agent of request ${id} was lost before it confirmed; look again with ${next}\n`;
  return `${painted}: the cancel was asked for, request ${id} is still running; ${next}\n`;
}

interface Decision {
  id: string;
  action: 'approve' | 'reject' | 'cancel';
  body: object;
  /** Statuses that are no failure of the call. */
  accept?: readonly number[];
}

/** The server waits up to 20 s when it cancels a running request, within the 30 s of a call. */
function post(context: Context, { id, action, body, accept = [] }: Decision) {
  return context.client().call({ method: 'POST', path: ['api', 'requests', id, action], body: JSON.stringify(body), accept });
}

function comment(options: { comment?: string }): { comment?: string } {
  return options.comment === undefined ? {} : { comment: options.comment };
}

function conflictOfApproval(context: Context, status: number, text: string): CommandFailure {
  const refused = answerFailure(context.what, status, text);
  return refused.reason === 'already_approved' || refused.reason === 'already_dispatched'
    ? failure('already_approved', refused.message, { hint: refused.hint })
    : refused;
}

/** The server's hint lists the selectors: `say which: group:leads, user:alice`. */
function whichSelector({ what }: Context, error: CommandFailure): CommandFailure {
  const selectors = /^say which: (.+)$/.exec(error.hint ?? '')?.[1]?.split(', ') ?? [];
  if (selectors.length < 2) return error;
  const { code, reason, data } = error;
  const either = selectors.length === 2 ? selectors.join(' or ') : `one of ${selectors.join(', ')}`;
  return new CommandFailure(code, `${what}: you can approve as ${either}`, {
    hint: `add --as ${selectors[0]}`,
    reason,
    data,
    exit: 1,
  });
}

async function conflictOfCancel(context: Context, id: string, status: number, text: string): Promise<CommandFailure> {
  const refused = answerFailure(context.what, status, text);
  const view = await lookAtRequest(context, id, null, context.signal).catch(() => null);
  if (view?.status !== 'executed') return refused;
  return new CommandFailure(refused.code, `${context.what}: it had been executed before the cancel arrived`, {
    hint: `svc request result ${id}`,
    data: view.text,
    exit: 1,
  });
}
