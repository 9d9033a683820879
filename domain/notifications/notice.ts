import type { AuditDraft } from '../audit/draft.js';
import { openSelectors } from '../request/approval.js';
import type { Status, StoredRequest } from '../request/types.js';
import { isCreation, isNotificationEvent, type NotificationEvent, notificationEvents } from './events.js';

/** What one event tells, whatever form it is sent in. No SQL but what the redaction allows, no result, no secret (NT-20). */
export interface Notice {
  event: NotificationEvent;
  /** The actor of the audit event. */
  actor: string;
  request: RequestFacts | null;
  /** As the table of NT-1 says. */
  detail: string | null;
  /** The selector that a decision counted for. */
  matchedSelector: string | null;
  /** What the actor gave as reason; for a creation that of the request, for a rejection its comment. */
  reason: string | null;
  error: NoticeError | null;
}

/** The request as the event leaves it. */
interface RequestFacts {
  id: string;
  database: string;
  environment: string;
  operation: string;
  requester: string;
  status: Status;
  /** The step that the event is about, from 1, and how many there are; null where none is. */
  step: { number: number; total: number } | null;
  /** Who has approved it, in order and once each. */
  approvers: string[];
  /** The selectors that still need approvals in the current step. */
  next: string[];
}

/** Of a database's error no more than AU-53 allows: `line`, the first of its text, only with redaction `none`. */
interface NoticeError {
  class: string;
  line: string | null;
}

/**
 * The notices of what a move or a creation writes, in the order of its events (NT-2 to NT-4). `detail` is that of a creation as `[audit] redaction`
 * lets it out (AU-50), the same text as its audit event has in `detail_raw`.
 */
export function requestNotices(drafts: readonly AuditDraft[], request: StoredRequest, detail: string | null = null): Notice[] {
  return drafts.flatMap((draft) => {
    const { type: event, metadata } = draft;
    if (!isNotificationEvent(event) || !notificationEvents[event].request) return [];
    const notice: Notice = {
      event,
      actor: draft.actor.id,
      request: factsOf(request, event, metadata),
      detail: isCreation(event) ? detail : event === 'execution.completed' ? stepsDone(request, metadata) : null,
      matchedSelector: textOf(metadata.matched_selector),
      reason: draft.reason,
      error: errorOf(metadata),
    };
    return [notice];
  });
}

/** The notices of events that are about no request: those of users. */
export const userNotices = (drafts: readonly AuditDraft[]): Notice[] =>
  drafts.flatMap(({ type, actor }) =>
    isNotificationEvent(type) && !notificationEvents[type].request ? [bareNotice(type, actor.id)] : [],
  );

/** A notice of an event without a request. */
export const bareNotice = (event: NotificationEvent, actor: string, detail: string | null = null): Notice => ({
  event,
  actor,
  request: null,
  detail,
  matchedSelector: null,
  reason: null,
  error: null,
});

function factsOf(request: StoredRequest, event: NotificationEvent, metadata: AuditDraft['metadata']): RequestFacts {
  const { id, database, environment, operation, requester, status } = request;
  const approvals = request.decisions.filter(({ action }) => action === 'approve');
  return {
    id,
    database,
    environment,
    operation,
    requester,
    status,
    step: notificationEvents[event].approval ? stepOf(request, metadata) : null,
    approvers: [...new Set(approvals.map(({ userId }) => userId))],
    next: openSelectors(request),
  };
}

/** Once all steps are approved it is the last. */
function stepOf({ policy, currentStep }: StoredRequest, { step_number }: AuditDraft['metadata']): RequestFacts['step'] {
  const total = policy?.steps.length ?? 0;
  if (total === 0) return null;
  return { number: typeof step_number === 'number' ? step_number : Math.min(currentStep + 1, total), total };
}

/** The versions that a migration has applied or reverted, or their number where the audit event has no more (MI-44). */
function stepsDone({ operation }: StoredRequest, metadata: AuditDraft['metadata']): string | null {
  for (const key of ['applied', 'reverted', 'applied_count', 'reverted_count']) {
    const told = metadata[key];
    if (told !== undefined) return `${operation}: ${key}=${Array.isArray(told) ? `[${told.join(',')}]` : told}`;
  }
  return null;
}

function errorOf({ error_class, error_message }: AuditDraft['metadata']): NoticeError | null {
  const name = textOf(error_class);
  return name === null ? null : { class: name, line: textOf(error_message)?.split(/\r\n|[\n\r]/, 1)[0] ?? null };
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : null);
