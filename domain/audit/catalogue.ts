export type AuditOutcome = 'success' | 'denied' | 'failure' | 'info';
export type AuditCategory =
  | 'approval'
  | 'execution'
  | 'agent'
  | 'auth'
  | 'token'
  | 'identity'
  | 'policy'
  | 'request'
  | 'preflight';

/** The types of events, each with its category. */
export const auditCategory = {
  'auth.failure': 'auth',
  'auth.login_success': 'auth',
  'token.created': 'token',
  'token.revoked': 'token',
  'token.scoped': 'token',
  'token.reissued_initial': 'token',
  'token.delivery': 'token',
  'user.created': 'identity',
  'user.updated': 'identity',
  'user.suspended': 'identity',
  'user.activated': 'identity',
  'user.deleted': 'identity',
  'group.member_added': 'identity',
  'group.member_removed': 'identity',
  'onboarding.requested': 'identity',
  'onboarding.approved': 'identity',
  'onboarding.rejected': 'identity',
  'onboarding.expired': 'identity',
  'request.created': 'approval',
  'request.auto_approved': 'approval',
  'request.break_glass': 'approval',
  'request.dispatched': 'approval',
  'step.approved': 'approval',
  'request.approved': 'approval',
  'request.rejected': 'approval',
  'request.cancelled': 'approval',
  'request.expired': 'approval',
  'request.dispatch_timeout': 'approval',
  'request.integrity_failed': 'approval',
  'request.blocked_by_review': 'approval',
  'ddl.break_glass_bypass': 'request',
  'preflight.attempted': 'preflight',
  'execution.started': 'execution',
  'execution.completed': 'execution',
  'execution.failed': 'execution',
  'execution.cancelled': 'execution',
  'execution.late_result': 'execution',
  'execution.marker_mismatch': 'execution',
  'execution.lost': 'agent',
  'agent.registered': 'agent',
  'schema.snapshot_updated': 'agent',
  'schema.snapshot_failed': 'agent',
  'webhook.redelivered': 'policy',
  'audit.exported': 'policy',
  'audit.purge_checkpoint': 'policy',
  'config.synced': 'policy',
  'config.rejected': 'policy',
  'signing_key.created': 'policy',
  'plan.changed': 'policy',
  'signing_key.activated': 'policy',
  'signing_key.retired': 'policy',
  'signing_key.revoked': 'policy',
  'secret_key.adopted': 'policy',
  'secret_key.changed': 'policy',
} as const satisfies Record<string, AuditCategory>;

export type AuditType = keyof typeof auditCategory;

/** Every type of event. The checkpoints of the log itself have no draft. */
export const eventTypes: readonly string[] = [...Object.keys(auditCategory), 'audit.signed_checkpoint'].toSorted();
export const eventCategories: readonly string[] = [...new Set(Object.values(auditCategory))].toSorted();
export const eventOutcomes: readonly AuditOutcome[] = ['success', 'denied', 'failure', 'info'];
