import { BUILTIN_REVIEW } from '../../config/shared.js';
import type {
  AutoApproveRule,
  ExecutionPolicy,
  NotificationPolicy,
  ResultPolicy,
  ReviewPolicy,
  WorkflowPolicy,
} from '../../domain/policies.js';
import { DEFAULT_SNAPSHOT_AGE_SECS } from '../../domain/workflow-policy.js';

export function shownAutoApprove(rule: AutoApproveRule | null) {
  if (rule === null) return null;
  return {
    mode: rule.mode,
    max_risk_level: rule.risk,
    allow_read_only: rule.allowReadOnly,
    allow_safe_ddl: rule.allowSafeDdl,
    max_estimated_rows: rule.maxEstimatedRows,
    max_snapshot_age_secs: rule.maxSnapshotAgeSecs ?? DEFAULT_SNAPSHOT_AGE_SECS,
    channels: rule.channels ?? [],
  };
}

/** An item of `GET /api/workflows`, without its times. */
export function shownWorkflow(workflow: WorkflowPolicy) {
  return {
    id: workflow.id,
    database: workflow.database,
    environment: workflow.environment,
    operations: workflow.operations,
    auto_approve: shownAutoApprove(workflow.autoApprove),
    steps: workflow.steps.map(({ approvers, mode }) => ({ approvers, mode })),
    require_reason: workflow.requireReason,
    allow_self_approve: workflow.allowSelfApprove,
    allow_same_approver_across_steps: workflow.allowSameApproverAcrossSteps,
    explain: workflow.explain,
    pending_ttl_secs: workflow.pendingTtlSecs,
    approval_ttl_secs: workflow.approvalTtlSecs,
    statement_timeout_secs: workflow.statementTimeoutSecs,
  };
}

/** An item of `GET /api/execution-policies`, without its times. */
export function shownExecutionPolicy(policy: ExecutionPolicy) {
  return {
    id: policy.id,
    database: policy.database,
    environment: policy.environment,
    max_executions: policy.maxExecutions,
    execution_window_secs: policy.executionWindowSecs,
    retry_on_failure: policy.retryOnFailure,
    statement_timeout_secs: policy.statementTimeoutSecs,
    max_statement_timeout_secs: policy.maxStatementTimeoutSecs,
    max_rows: policy.maxRows,
    migration_lease_duration_secs: policy.migrationLeaseDurationSecs,
    migration_statement_timeout_secs: policy.migrationStatementTimeoutSecs,
  };
}

/** An item of `GET /api/result-policies`, without its times. */
export function shownResultPolicy(policy: ResultPolicy) {
  return {
    id: policy.id,
    database: policy.database,
    environment: policy.environment,
    retention_days: policy.retentionDays,
    delivery_mode: policy.deliveryMode,
    access: policy.access,
  };
}

/** An item of `GET /api/notification-policies` (NT-62). */
export function shownNotificationPolicy({ id, database, environment, webhooks, events, slackChannels }: NotificationPolicy) {
  return { id, database, environment, webhooks, events, slack_channels: slackChannels };
}

/** An item of `GET /api/sql-review-policies`. Pairs without an entry use the gateway's own rules. */
export function shownReviewPolicy(policy: ReviewPolicy) {
  const { id, database, environment, migrations = 'warn', rules } = policy;
  return { id, database, environment, migrations, rules, source: reviewSource(policy) };
}

export const reviewSource = ({ id }: ReviewPolicy) => (id === BUILTIN_REVIEW.id ? ('builtin' as const) : ('config' as const));
