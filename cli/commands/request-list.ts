import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { tableInstant } from '../output/instant.js';
import { migrationDetailLine } from '../output/migration-detail.js';
import type { Answer } from '../output/output.js';
import { type Style, statusPainter } from '../output/style.js';
import { renderTable } from '../output/table.js';
import { totalOf } from '../output/total.js';
import { shortIds } from '../request-id.js';

export interface RequestListOptions {
  status?: string;
  user?: string;
  pendingForMe?: boolean;
  decidedByMe?: boolean;
  limit?: number;
  offset?: number;
}

/** `svc request list`: filters by database and environment only when the options are given. */
export async function listRequests(context: Context, _: readonly string[], options: RequestListOptions): Promise<Answer> {
  const reply = await context.client().call({
    method: 'GET',
    path: ['api', 'requests'],
    query: {
      limit: options.limit,
      offset: options.offset,
      status: options.status,
      user: options.user,
      pending_for_me: options.pendingForMe,
      decided_by_me: options.decidedByMe,
      database: context.options.database,
      environment: context.options.environment,
    },
  });
  const page = reply.json();
  const requests = page.get('requests')?.items() ?? [];
  const total = totalOf(page) ?? `${requests.length}`;
  return {
    data: reply.text,
    human: () => (requests.length === 0 ? '' : requestTable(context, requests)),
    // None on a page beyond the last does not mean that there are none.
    note: total === '0' ? 'no requests' : `${requests.length} of ${total}`,
  };
}

function requestTable(context: Context, requests: readonly JsonText[]): string {
  const { style } = context.output;
  const shorten = shortIds(
    context,
    requests.map((request) => request.get('id')?.string() ?? ''),
  );
  const rows = requests.map((request) => rowOf(request, shorten, style));
  return renderTable(['ID', 'STATUS', 'REQUESTER', 'DATABASE', 'CREATED', 'WAITS FOR', 'SQL'], rows, {
    maxCell: Math.max(60, style.columns),
    whole: new Set([0]),
    yielding: new Set([6]),
    // The status says nearly as much, and the order of the list tells the age.
    spare: [5, 4, 2],
    style,
    paintCell: statusPainter(style, rows, 1),
  });
}

function rowOf(request: JsonText, shorten: (id: string) => string, style: Style): string[] {
  const text = (key: string) => visible(request.get(key)?.string() ?? '');
  const approvers = request.get('next_approvers')?.items() ?? [];
  return [
    shorten(text('id')),
    text('status'),
    text('requester'),
    `${text('database')}/${text('environment')}`,
    tableInstant(text('created_at'), style),
    waitsFor(text('status'), approvers.map((entry) => visible(entry.string() ?? '')).join(', ')),
    contentOf(request),
  ];
}

function contentOf(request: JsonText): string {
  const detail = request.get('detail')?.string() ?? '';
  const migrations = migrationDetailLine(request.get('operation')?.string() ?? '', detail);
  return migrations ?? visible(detail.replace(/[ \t\r\n]+/g, ' ').replace(/^ | $/g, ''));
}

function waitsFor(status: string, approvers: string): string {
  if (status === 'pending') return approvers;
  if (status === 'approved') return 'resume';
  return status === 'dispatched' ? 'agent' : '';
}
