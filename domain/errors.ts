/** Resources of HT-95. Each has its own not_found, conflict and gone codes. */
export type Resource =
  | 'request'
  | 'execution'
  | 'result'
  | 'dry_run_job'
  | 'preflight_job'
  | 'agent'
  | 'user'
  | 'group'
  | 'token'
  | 'role'
  | 'workflow'
  | 'execution_policy'
  | 'result_policy'
  | 'notification_policy'
  | 'sql_review_policy'
  | 'webhook'
  | 'delivery'
  | 'database'
  | 'schema'
  | 'table'
  | 'slack'
  | 'mcp'
  | 'mcp_session'
  | 'mcp_stream';

/** The closed catalogue of codes: section 7.1 of the HTTP rules. */
export type FixedCode =
  | 'validation.failed'
  | 'validation.unsupported_media_type'
  | 'validation.not_acceptable'
  | 'auth.missing_token'
  | 'auth.invalid_token'
  | 'auth.token_expired'
  | 'auth.user_suspended'
  | 'auth.oidc_not_configured'
  | 'auth.oidc_failed'
  | 'auth.no_roles_resolved'
  | 'auth.insufficient_scope'
  | 'auth.forbidden'
  | 'plan.limit_exceeded'
  | 'route.not_found'
  | 'route.method_not_allowed'
  | 'config.read_only'
  | 'payload.too_large'
  | 'rate.limited'
  | 'service.draining'
  | 'service.unavailable'
  | 'internal';

export type ErrorCode = FixedCode | `${Resource}.${'not_found' | 'conflict' | 'gone'}`;

/** What a code with several meanings means here (HT-90). Programs decide by the reason; the text is for people. */
export const reasons = [
  'reason_required',
  'not_registered',
  'selector_ambiguous',
  'already_approved',
  'already_dispatched',
  'wrong_status',
  'selector_satisfied',
  'content_changed',
  'executions_used_up',
  'partly_applied',
  'not_retried',
  'outcome_unknown',
  'requester_not_active',
  'pair_changed',
  'dispatch_timed_out',
  'attempt_unresolved',
  'agent_too_old',
  'migration_running',
  'idempotency_key_taken',
  'not_ended',
  'webhook_removed',
  'not_routed',
  'request_purged',
] as const;

export type Reason = (typeof reasons)[number];

/** A refusal that a caller may see: a closed code, one line of text, optional advice (HT-90). Any other error is a bug. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | null;
  readonly reason: Reason | null;

  /** `cause` goes to the log only. */
  constructor(code: ErrorCode, message: string, hint: string | null, options: { cause?: unknown; reason?: Reason | null } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.name = 'GatewayError';
    this.code = code;
    this.hint = hint;
    this.reason = options.reason ?? null;
  }
}

/** Returns the error for the caller to throw. `hint` is the place of the offending value (HT-91) or advice. */
export function refusal(
  code: ErrorCode,
  message: string,
  hint: string | null = null,
  reason: Reason | null = null,
): GatewayError {
  return new GatewayError(code, message, hint, { reason });
}

/**
 * All permission refusals share one text; the hint says why (HT-93, HT-I6). It may tell what the caller holds and what the call names, and of a stored
 * object only what the caller may know.
 */
export const forbidden = (why: string) => refusal('auth.forbidden', 'forbidden', why);

/** Why an agent is refused an execution, and a job. */
export const othersRun = 'this execution belongs to another agent';
export const outOfScope = 'outside what this agent token serves';

/** 404 of a resource with the text of the catalogue (HT-97). */
export const notFound = (resource: Resource) => refusal(`${resource}.not_found`, `${resource.replaceAll('_', ' ')} not found`);

export const noSuchPath = () => refusal('route.not_found', 'no such path');

/** 401 of a credential whose user was suspended or deleted, even while their call was under way (IM-I4). */
export const suspended = () => refusal('auth.user_suspended', 'user suspended');

/** 401 of a token that is unknown or revoked, even while its call was under way (IM-72). */
export const invalidToken = () => refusal('auth.invalid_token', 'invalid token');

/** 403 of a Slack account whose link ended while its call was under way (SL-13). */
export const unlinked = () => refusal('auth.forbidden', 'your Slack account is no longer linked to this user');

/** 400 with the place of the first offending value in the hint (HT-91). */
export const invalid = (message: string, place: string | null = null, reason: Reason | null = null) =>
  refusal('validation.failed', message, place, reason);
