import { isUuid } from '../lib/uuid.js';

/**
 * The ids of a trace are made of the ids that its parts know anyway, so that nothing is stored, sent or taken from a caller for it. A version-4 UUID has a
 * digit in each half that is never 0, so neither half is the invalid id of zeros.
 */
export const traceIdOf = (requestId: string): string | null => (isUuid(requestId) ? digits(requestId) : null);

/** Of the call that made the request: the first span of the trace. */
export const firstSpanId = (requestId: string): string => digits(requestId).slice(0, 16);

/** Of the claim that began the execution. The agent knows it too. */
export const claimSpanId = (executionId: string): string => digits(executionId).slice(0, 16);

/** Of the agent's work on the execution. */
export const jobSpanId = (executionId: string): string => digits(executionId).slice(16);

const digits = (uuid: string) => uuid.replaceAll('-', '').toLowerCase();

/** A span of another system. */
export interface SpanLink {
  traceId: string;
  spanId: string;
}

/**
 * The caller's own span by its header `traceparent` (W3C); null for any other text. It becomes a link and nothing else: a caller who could choose the trace of a
 * call could write into the trace of a request that is not theirs.
 */
export function linkOf(traceparent: string | undefined): SpanLink | null {
  const [, version, traceId = '', spanId = '', rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(traceparent?.slice(0, maxHeader) ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  return /^0+$/.test(traceId) || /^0+$/.test(spanId) ? null : { traceId, spanId };
}

const maxHeader = 512;
