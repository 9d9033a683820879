import { isBlank } from '../../lib/visible.js';
import type { NotificationEvent } from '../notifications/events.js';
import type { Notice } from '../notifications/notice.js';
import { sayingParts, titleOf } from '../notifications/slack-message.js';
import { markup, type SlackMessage } from './blocks.js';
import { codeSpan } from './text.js';

/** What a line in a card's thread is made of, as the event left it. Never SQL, a result or a token (SL-I5). */
export interface LineFacts {
  event: NotificationEvent;
  actor: string;
  /** What the actor gave as reason; of a rejection its comment. */
  reason: string | null;
  error: Notice['error'];
  /** The step that the event is about, from 1, and how many there are. */
  step: { number: number; total: number } | null;
  /** What a migration has applied or reverted. */
  detail: string | null;
  /** Users who have approved. */
  approvers: string[];
  /** Selectors that need approvals, or did when the request ended. */
  asked: string[];
}

/** `asked` are the selectors of the step that the change found or left open. The detail of a creation may be SQL, and a creation has no line. */
export function lineFacts({ event, actor, reason, error, detail, request }: Notice, asked: string[]): LineFacts {
  return { event, actor, reason, error, detail, step: request?.step ?? null, approvers: request?.approvers ?? [], asked };
}

const titles: Partial<Record<NotificationEvent, string>> = {
  'request.dispatched': '🚀 Dispatched',
  'request.integrity_failed': '⛔ Integrity Check Failed',
  'execution.cancelled': '🛑 Execution Cancelled',
};
const detailLimit = 200;

/** One line of a card's thread. `actor` and `mentioned` are markup already. */
export function threadLine(facts: LineFacts, { actor, mentioned }: { actor: string; mentioned: string }): SlackMessage {
  const { event, step, detail } = facts;
  const title = titles[event] ?? titleOf(event);
  const parts = [`${title} by ${actor}`];
  if (step !== null) parts.push(`Step ${step.number}/${step.total}`);
  parts.push(...sayingParts(facts));
  if (detail !== null && !isBlank(detail)) parts.push(codeSpan(detail, detailLimit));
  if (mentioned !== '') parts.push(mentioned);
  return { text: title, blocks: [{ type: 'section', text: markup(parts.join(' • ')) }] };
}
