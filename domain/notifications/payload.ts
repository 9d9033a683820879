import type { Notice } from './notice.js';

/** The body of format `generic`: always these keys, in this order (NT-20). */
export function genericBody({ event, actor, request, detail, matchedSelector }: Notice): string {
  return JSON.stringify({
    event,
    request_id: request?.id ?? null,
    database: request?.database ?? null,
    environment: request?.environment ?? null,
    operation: request?.operation ?? null,
    actor,
    requester: request?.requester ?? null,
    detail,
    matched_selector: matchedSelector,
  });
}
