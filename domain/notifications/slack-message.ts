import { isBlank } from '../../lib/visible.js';
import { requestUrl } from '../request/link.js';
import { type Markup, markup, plain, type ShownBlock, type SlackMessage } from '../slack/blocks.js';
import { codeSpan, linkTo, plainLine, sqlBlock } from '../slack/text.js';
import type { NotificationEvent } from './events.js';
import type { Notice } from './notice.js';

/** Of an event that is told of; others have none. */
export const titleOf = (event: NotificationEvent): string => titles[event] ?? '🔔 Notification';

const titles: Partial<Record<NotificationEvent, string>> = {
  'request.created': '📋 New Approval Request',
  'request.break_glass': '🚨 Break-Glass Request',
  'request.auto_approved': '⚡ Auto-Approved',
  'step.approved': '☑️ Step Approved',
  'request.approved': '✅ Request Approved',
  'request.rejected': '❌ Rejected',
  'execution.completed': '🎉 Completed',
  'execution.failed': '⚠️ Execution Failed',
  'execution.lost': '💀 Execution Lost',
  'request.expired': '⏰ Expired',
  'request.cancelled': '🚫 Cancelled',
  'request.dispatch_timeout': '🔄 Dispatch Timeout',
  license_grace_warning: '⚠️ License Grace Warning',
  license_downgraded: '🔒 License Downgraded',
};

// With these the longest text of a block is below Slack's 3000 characters (2000 in a field), also when every character is escaped to five.
const nameLimit = 128;
const detailLimit = 200;
const sayingLimit = 100;
const selectorLimit = 64;
const maxApprovers = 5;
const maxSelectors = 3;

/** The body of format `slack` (NT-21). */
export const slackBody = (notice: Notice, publicUrl: string | null): string => JSON.stringify(slackMessage(notice, publicUrl));

/** An incoming-webhook message of Slack. Its request id is a link where the gateway has a public URL. */
export function slackMessage(notice: Notice, publicUrl: string | null): SlackMessage<ShownBlock> {
  const { event, request, detail } = notice;
  const title = titleOf(event);
  const parts = contextOf(notice);
  const hint = hintOf(notice);
  const blocks: ShownBlock[] = [
    { type: 'header', text: plain(title) },
    { type: 'section', fields: fieldsOf(request, publicUrl) },
  ];
  if (detail !== null && !isBlank(detail)) blocks.push({ type: 'section', text: markup(sqlBlock(detail, detailLimit)) });
  if (parts.length > 0) blocks.push({ type: 'context', elements: [markup(parts.join(' • '))] });
  if (hint !== null) blocks.push({ type: 'context', elements: [markup(hint)] });
  return { text: `${title} — ${name(request?.database)}/${name(request?.environment)} — ${name(request?.id)}`, blocks };
}

const name = (text: string | undefined) => (text === undefined ? '—' : plainLine(text, nameLimit));

function fieldsOf(request: Notice['request'], publicUrl: string | null): Markup[] {
  const { approvers = [] } = request ?? {};
  const fields = [
    `*Requester:*\n${name(request?.requester)}`,
    `*Database:*\n${name(request?.database)} / ${name(request?.environment)}`,
    `*Operation:*\n${name(request?.operation)}`,
    `*Request ID:*\n${linkTo(request === null ? null : requestUrl(publicUrl, request.id), name(request?.id))}`,
  ];
  if (approvers.length > 0)
    fields.push(
      `*Approvers:*\n${few(
        approvers.map((user) => plainLine(user, selectorLimit)),
        maxApprovers,
      )}`,
    );
  return fields.map(markup);
}

function contextOf({ event, actor, request, reason, error }: Notice): string[] {
  const { requester = null, step = null, next = [] } = request ?? {};
  const parts: string[] = [];
  if (titles[event] === undefined) parts.push(`Event: ${event}`);
  if (actor !== requester) parts.push(`Actor: ${name(actor)}`);
  if (step !== null) parts.push(`Step ${step.number}/${step.total}`);
  parts.push(...sayingParts({ reason, error }));
  if (next.length > 0) parts.push(nextPart(next));
  return parts;
}

/** What was said and what went wrong, where there is any (AU-53). */
export function sayingParts({ reason, error }: Pick<Notice, 'reason' | 'error'>): string[] {
  const parts: string[] = [];
  if (reason !== null && !isBlank(reason)) parts.push(`Reason: ${codeSpan(reason, sayingLimit)}`);
  const failure = error === null ? '' : (error.line ?? error.class);
  if (!isBlank(failure)) parts.push(`Error: ${codeSpan(failure, sayingLimit)}`);
  return parts;
}

/** The selectors that still need approvals. */
export const nextPart = (selectors: readonly string[]): string =>
  `Next: ${few(
    selectors.map((selector) => codeSpan(selector, selectorLimit)),
    maxSelectors,
  )}`;

export function few(texts: readonly string[], most: number): string {
  const more = texts.length - most;
  return more > 0 ? `${texts.slice(0, most).join(', ')} and ${more} more` : texts.join(', ');
}

/** The command that comes next, if the request still waits for it. */
function hintOf({ event, request }: Notice): string | null {
  if (request === null) return null;
  const { id, status } = request;
  if (event === 'request.created' && status === 'pending') return `Approve: ${codeSpan(`svc request approve ${id}`, nameLimit)}`;
  const waits = (event === 'request.approved' || event === 'request.dispatch_timeout') && status === 'approved';
  return waits ? `Run: ${codeSpan(`svc request resume ${id}`, nameLimit)}` : null;
}
