import type { ErrorCode, FixedCode, GatewayError, Reason, Resource } from '../domain/errors.js';
import { cutBytes } from '../lib/utf8.js';

const fixedStatus = {
  'validation.failed': 400,
  'validation.unsupported_media_type': 415,
  'validation.not_acceptable': 406,
  'auth.missing_token': 401,
  'auth.invalid_token': 401,
  'auth.token_expired': 401,
  'auth.user_suspended': 401,
  'auth.oidc_not_configured': 401,
  'auth.oidc_failed': 401,
  'auth.no_roles_resolved': 403,
  'auth.insufficient_scope': 403,
  'auth.forbidden': 403,
  'plan.limit_exceeded': 402,
  'route.not_found': 404,
  'route.method_not_allowed': 405,
  'config.read_only': 405,
  'payload.too_large': 413,
  'rate.limited': 429,
  'service.draining': 503,
  'service.unavailable': 503,
  internal: 500,
} as const satisfies Record<FixedCode, number>;

type ResourceReason = ErrorCode extends infer Code ? (Code extends `${Resource}.${infer Reason}` ? Reason : never) : never;
const resourceStatus = { not_found: 404, conflict: 409, gone: 410 } as const satisfies Record<ResourceReason, number>;

/** Section 7.1 of the HTTP rules. */
export function httpStatus(code: ErrorCode): number {
  if (code in fixedStatus) return fixedStatus[code as FixedCode];
  return resourceStatus[code.slice(code.lastIndexOf('.') + 1) as ResourceReason];
}

export interface ErrorBody {
  error: string;
  code: ErrorCode;
  hint: string | null;
  reason?: Reason;
}

export const maxErrorTextBytes = 2000;

/** The body of HT-90. The text becomes one line of at most 2000 bytes (HT-92). */
export function errorBody({
  code,
  message,
  hint,
  reason,
}: Pick<GatewayError, 'code' | 'message' | 'hint' | 'reason'>): ErrorBody {
  const body = { error: oneLine(message), code, hint: hint === null ? null : oneLine(hint) };
  return reason === null ? body : { ...body, reason };
}

/** Headers that every error of this status needs (HT-25, HT-27). */
export function errorHeaders(status: number): Record<string, string> {
  if (status === 401) return { 'WWW-Authenticate': 'Bearer' };
  if (status === 429 || status === 503) return { 'Retry-After': '1' };
  return {};
}

function oneLine(text: string): string {
  return cutBytes(text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ').trim(), maxErrorTextBytes);
}
