import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import type { CommandFailure } from '../failure.js';
import { describeQueueHint, viewRequest } from '../follow/request-view.js';
import { detailInstant } from '../output/instant.js';
import type { Answer } from '../output/output.js';
import { explainLines } from '../output/query-plan.js';
import { askedBy, contentSection } from '../output/request-content.js';
import { approvalLines, contextLines, traceLines } from '../output/request-parts.js';
import { renderSections, type Section } from '../output/sections.js';
import { indentedStyle, paintStatus } from '../output/style.js';
import { resolveRequestId } from '../request-id.js';
import { executionsTable } from './request-run.js';

/** `svc request show ID` (CL-31); human mode also reads the executions. */
export async function showRequest(context: Context, args: readonly string[], options: { full?: boolean }): Promise<Answer> {
  const id = await resolveRequestId(context, args[0]!);
  const client = context.client();
  const [reply, executions] = await Promise.all([
    client.call({ method: 'GET', path: ['api', 'requests', id] }),
    context.output.mode === 'human' ? readExecutions(context, id) : null,
  ]);
  const request = reply.json();
  return { data: reply.text, human: () => page(context, request, { executions, isFull: options.full === true }) };
}

/** The page is useful without executions: a failure is only a warning. */
async function readExecutions(context: Context, id: string): Promise<JsonText[] | null> {
  return context
    .client()
    .call({ method: 'GET', path: ['api', 'requests', id, 'executions'] })
    .then(
      (reply) => reply.json().get('executions')?.items() ?? [],
      (error: CommandFailure) => {
        if (context.signal.aborted) throw error;
        return null;
      },
    );
}

interface Shown {
  executions: readonly JsonText[] | null;
  isFull: boolean;
}

function page(context: Context, request: JsonText, { executions, isFull }: Shown): string {
  const { style } = context.output;
  const sections: Section[] = [
    [`Request ${visible(textOf(request, 'id'))}`, headLines(context, request)],
    contentSection(request, context.output, style, isFull),
    ['Approval', approvalLines(request.get('approval_progress'), textOf(request, 'status'), style)],
    ['Context', contextLines(request.get('context'), style)],
    ['Plan', explainLines(request.get('context'), style)],
    ['Decision', traceLines(request.get('decision_trace'))],
    [
      'Executions',
      executions === null ? ['not available'] : executionsTable(executions, indentedStyle(style, 2)).trimEnd().split('\n'),
    ],
  ];
  return renderSections(sections, style);
}

function headLines(context: Context, request: JsonText): string[] {
  const text = (key: string) => visible(textOf(request, key));
  const instant = (key: string) => detailInstant(text(key), context.output.style);
  const flags = ['emergency', 'no_result_store', 'require_approval'].filter((key) => request.get(key)?.text === 'true');
  const shared =
    request
      .get('share_with')
      ?.items()
      .map((entry) => visible(entry.string() ?? '')) ?? [];
  const until = deadlineOf(request);
  const bound = request.get('max_affected_rows');
  const rows: [string, string][] = [
    ['status', paintStatus(context.output.style, text('status')) + whoseTurn(request)],
    ['where', `${text('database')}/${text('environment')}`],
    ['operation', [text('operation'), ...flags].join(', ')],
    ['may change', bound?.kind === 'number' ? `at most ${bound.text} rows, because it was approved automatically` : ''],
    ['search path', searchPathOf(request)],
    ['requester', text('requester')],
    ['asked by', askedBy(request)],
    ['reason', text('reason')],
    ['shared with', shared.join(', ')],
    ['created', instant('created_at')],
    ['approved', instant('approved_at')],
    [until.label, detailInstant(visible(until.at), context.output.style)],
    ['cancelled by', [text('cancelled_by'), text('cancel_reason')].filter(Boolean).join(': ')],
    ['lost', text('lost_reason')],
    ['digest', text('approval_digest')],
  ];
  return rows
    .filter(([, value]) => value !== '')
    .map(([label, value]) => `${context.output.style.dim(label.padEnd(14))}${value}`);
}

/** The schemas that resolved the request's tables, unless they are the default. */
function searchPathOf(request: JsonText): string {
  const path = request.get('search_path');
  const schemas = path?.kind === 'array' ? path.items().map((schema) => visible(schema.string() ?? '')) : ['public'];
  return schemas.join() === 'public' ? '' : schemas.join(', ');
}

/** Who must act next, shown after the status. */
function whoseTurn(request: JsonText): string {
  const status = textOf(request, 'status');
  const hint = textOf(request, 'queue_hint');
  if (status === 'pending') return `, waits for ${viewRequest(request, '').nextApprovers.map(visible).join(', ') || 'approval'}`;
  if (status === 'approved') return `, waits for ${visible(textOf(request, 'requester'))} to resume it`;
  if (status === 'running')
    return `, agent ${visible(textOf(request, 'claimed_by'))}${textOf(request, 'cancel_requested_at') ? ', cancel asked for' : ''}`;
  if (status === 'dispatched') return `, waits for an agent${hint ? `: ${describeQueueHint(visible(hint))}` : ''}`;
  return '';
}

/** The deadline that applies: the pending one, else that for resuming what can be resumed. */
function deadlineOf(request: JsonText): { label: string; at: string } {
  const status = textOf(request, 'status');
  if (status === 'pending') return { label: 'expires', at: textOf(request, 'expires_at') };
  // Servers that do not say it may allow it.
  const isOver = request.get('resumable')?.text === 'false';
  if (!isOver && ['approved', 'executed', 'failed', 'execution_lost'].includes(status))
    return { label: 'resume by', at: textOf(request, 'dispatch_by') };
  return { label: '', at: '' };
}

function textOf(request: JsonText, key: string): string {
  return request.get(key)?.string() ?? '';
}
