import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { logInstant } from '../output/instant.js';
import type { Answer } from '../output/output.js';
import { type ResultFormat, renderResult } from '../output/result-format.js';
import { statusPainter } from '../output/style.js';
import { renderTable } from '../output/table.js';
import { totalOf } from '../output/total.js';
import { resolveRequestId } from '../request-id.js';
import { parseWhen } from '../when.js';
import { verifyAudit } from './audit-verify.js';

export interface AuditFilterOptions {
  user?: string;
  operation?: string;
  eventType?: string;
  category?: string;
  outcome?: string;
  request?: string;
  since?: string;
  until?: string;
}

export interface AuditListOptions extends AuditFilterOptions {
  limit?: number;
  offset?: number;
  resultFormat?: ResultFormat;
  /** `svc audit --verify` is `svc audit verify` (cli.md section 6). */
  verify?: boolean;
}

/** `svc audit list`, newest first; filters by database and environment only when the options are given. */
export async function listAuditEvents(context: Context, _: readonly string[], options: AuditListOptions): Promise<Answer> {
  if (options.verify === true) return verifyAudit(context, [], {});
  const reply = await context.client().call({
    method: 'GET',
    path: ['api', 'audit', 'events'],
    query: { ...(await auditFilters(context, options)), limit: options.limit, offset: options.offset },
  });
  const answer = reply.json();
  const events = answer.get('events')?.items() ?? [];
  return {
    data: reply.text,
    human: () => auditText(context, events, options),
    note: `${events.length} of ${totalOf(answer) ?? events.length} events`,
  };
}

/** The filters under the names of the endpoints, which list and export share (AU-60). */
export async function auditFilters(context: Context, options: AuditFilterOptions): Promise<Record<string, string | undefined>> {
  const now = context.terminal.now();
  return {
    actor_id: options.user,
    operation: options.operation,
    event_type: options.eventType,
    event_category: options.category,
    outcome: options.outcome,
    request_id: options.request === undefined ? undefined : await resolveRequestId(context, options.request),
    database: context.options.database,
    environment: context.options.environment,
    since: options.since === undefined ? undefined : parseWhen(options.since, 'since', now),
    until: options.until === undefined ? undefined : parseWhen(options.until, 'until', now),
  };
}

function auditText(context: Context, events: readonly JsonText[], options: AuditListOptions): string {
  const format = options.resultFormat ?? 'table';
  if (format === 'table') return events.length === 0 ? '' : auditTable(context, events, options.request === undefined);
  const columns = events[0]?.entries().map(([name]) => name) ?? [];
  const rows = events.map((event) => event.entries().map(([, value]) => value));
  const view = { columns, rows, rowsAffected: null, truncated: false, truncationReason: null, data: null };
  return renderResult(view, format, context.output.style);
}

/** The column of subjects is left out when one request was asked for: it is the subject of all events. */
function auditTable(context: Context, events: readonly JsonText[], hasSubject: boolean): string {
  const { style } = context.output;
  const rows = events.map((event) => {
    const text = (key: string) => visible(event.get(key)?.string() ?? '');
    const place = text('database_name') && `${text('database_name')}/${text('environment')}`;
    // On a terminal a prefix that commands take: the table would cut the full id to something that they do not.
    const request = style.isTerminal ? text('request_id').slice(0, 8) : text('request_id');
    const subject = request || [text('resource_type'), text('resource_id')].filter(Boolean).join(' ');
    return [
      event.get('seq')?.kind === 'number' ? event.get('seq')!.text : '',
      logInstant(text('created_at'), style),
      text('event_type'),
      text('outcome'),
      text('actor_id'),
      place,
      ...(hasSubject ? [subject] : []),
      text('reason'),
    ];
  });
  const header = ['SEQ', 'TIME', 'EVENT', 'OUTCOME', 'ACTOR', 'DATABASE', ...(hasSubject ? ['SUBJECT'] : []), 'REASON'];
  return renderTable(header, rows, {
    rightAligned: new Set([0]),
    whole: new Set([1, 2]),
    yielding: new Set([5, 6, 7]),
    spare: [header.indexOf('DATABASE'), header.indexOf('REASON')],
    style,
    paintCell: statusPainter(style, rows, 3),
  });
}
