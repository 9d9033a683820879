import { databaseError } from '../../lib/database-error.js';
import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { checkOutput, type DeliveryOptions, deliver } from '../follow/deliver.js';
import { withContinuation } from '../follow/follow.js';
import { followInterruptibly } from '../follow/interruptible.js';
import { storedResult } from '../follow/result.js';
import { tableInstant } from '../output/instant.js';
import type { Answer } from '../output/output.js';
import { type Style, statusPainter } from '../output/style.js';
import { renderTable } from '../output/table.js';
import { resolveActedId, resolveRequestId } from '../request-id.js';

export interface WaitOptions extends DeliveryOptions {
  timeout?: number;
  resume?: boolean;
}

export interface ResumeOptions extends DeliveryOptions {
  timeout?: number;
  reason?: string;
}

export interface ResultOptions extends DeliveryOptions {
  execution?: string;
  list?: boolean;
  limit?: number;
}

/** `svc request wait ID`: waits for approval too; resumes only with the option (CL-22). */
export async function waitForRequest(context: Context, args: readonly string[], options: WaitOptions): Promise<Answer> {
  checkOutput(context, options);
  const resume = options.resume === true;
  const id = await (resume ? resolveActedId : resolveRequestId)(context, args[0]!);
  const task = { id, status: null, approvers: [], waitForApproval: true, resume, resumeAfterTimeout: resume };
  return deliver(context, followInterruptibly(context, task, options.timeout ?? 0), options, () => ended(context, id));
}

/** `svc request resume ID`: 409 `already_dispatched` is no error, the wait continues (CL-23). */
export async function resumeRequest(context: Context, args: readonly string[], options: ResumeOptions): Promise<Answer> {
  checkOutput(context, options);
  const id = await resolveActedId(context, args[0]!);
  try {
    const body = options.reason === undefined ? {} : { reason: options.reason };
    await context.client().call({ method: 'POST', path: ['api', 'requests', id, 'resume'], body: JSON.stringify(body) });
  } catch (error) {
    // Where no answer came, it may have been taken. To resume it again might run it again.
    if (!(error instanceof CommandFailure) || error.reason !== 'already_dispatched') throw withContinuation(error, id, 'wait');
  }
  const task = { id, status: 'dispatched', approvers: [], waitForApproval: false, resume: true, resumeAfterTimeout: true };
  return deliver(context, followInterruptibly(context, task, options.timeout ?? 0), options, () => ended(context, id));
}

/** `svc request result ID`: the stored result; exits with the statement's code (cli.md section 4). */
export async function requestResult(context: Context, args: readonly string[], options: ResultOptions): Promise<Answer> {
  if (options.list === true) {
    if (options.execution !== undefined || options.output !== undefined)
      throw failure('usage', 'request result: --list can be combined with --limit only');
    return requestExecutions(context, args, options);
  }
  const id = await resolveRequestId(context, args[0]!);
  return deliver(context, storedResult(context, id, context.signal, options.execution), options);
}

/** `svc request executions ID`, also `svc request result ID --list`. */
export async function requestExecutions(context: Context, args: readonly string[], options: { limit?: number }): Promise<Answer> {
  const id = await resolveRequestId(context, args[0]!);
  const reply = await context
    .client()
    .call({ method: 'GET', path: ['api', 'requests', id, 'executions'], query: { limit: options.limit } });
  const executions = reply.json().get('executions')?.items() ?? [];
  return { data: reply.text, human: () => executionsTable(executions, context.output.style) };
}

/** A table of executions, newest first; a sentence when there are none. */
export function executionsTable(executions: readonly JsonText[], style: Style): string {
  if (executions.length === 0) return 'It has not run yet.\n';
  const rows = executions.map((execution) => {
    const text = (key: string) => visible(execution.get(key)?.string() ?? '');
    const number = (key: string) => (execution.get(key)?.kind === 'number' ? execution.get(key)!.text : '');
    const took = number('duration_ms');
    return [
      number('fence'),
      text('status'),
      text('agent_id'),
      tableInstant(text('created_at'), style),
      took && `${took} ms`,
      number('rows_affected'),
      text('id'),
      databaseError(text('error_message'), null).message,
    ];
  });
  return renderTable(['RUN', 'STATUS', 'AGENT', 'STARTED', 'TOOK', 'ROWS', 'EXECUTION', 'ERROR'], rows, {
    rightAligned: new Set([0, 4, 5]),
    maxCell: 80,
    whole: new Set([6]),
    yielding: new Set([7]),
    spare: [6],
    style,
    paintCell: statusPainter(style, rows, 1),
  });
}

function ended(context: Context, id: string): string {
  return context.output.noteStyle.dim(`request ${id} executed`);
}
