import type { NotificationEvent } from '../notifications/events.js';
import type { Notice } from '../notifications/notice.js';

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
