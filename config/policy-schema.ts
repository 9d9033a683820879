import { z } from 'zod';
import { CHANNELS, OPERATIONS } from '../domain/policies.js';
import { DEFAULT_SNAPSHOT_AGE_SECS } from '../domain/workflow-policy.js';
import {
  bool,
  choice,
  int,
  list,
  optionalChoice,
  optionalInt,
  optionalList,
  optionalText,
  requiredChoice,
  requiredList,
  text,
  textOr,
} from './fields.js';
import { withRule } from './table-rules.js';
import * as rules from './text-rules.js';

/** The limit of `agent.toml`: PostgreSQL takes the milliseconds as an integer. */
const maxTimeoutSecs = 2_000_000;

const pair = { database: textOr('*', rules.nameOrStar), environment: textOr('*', rules.nameOrStar) };

const operation = rules.told(
  (text) => (OPERATIONS.some((known) => known === text) ? null : `must be one of ${OPERATIONS.join(', ')}`),
  OPERATIONS.join(', '),
);

const channel = rules.told(
  (text) => (CHANNELS.some((known) => known === text) ? null : `must be one of ${CHANNELS.join(', ')}`),
  CHANNELS.join(', '),
);

const autoApprove = withRule(
  z.strictObject({
    mode: requiredChoice(['always', 'risk_based']),
    risk: optionalChoice(['low', 'medium', 'high']),
    allow_read_only: bool(true),
    allow_safe_ddl: bool(true),
    max_estimated_rows: int(1000, 0),
    max_snapshot_age_secs: int(DEFAULT_SNAPSHOT_AGE_SECS, 60, 31_536_000),
    channels: list(channel),
  }),
  ['mode', 'risk'],
  ({ mode, risk }, tell) => {
    if (mode === 'risk_based' && risk === null) tell('is required for risk_based', ['risk']);
  },
);

const approverKeys = z.strictObject({
  role: optionalText(rules.roleName),
  group: optionalText(rules.groupName),
  user: optionalText(rules.userId),
  min: int(1, 1),
});
const namedApprover = withRule(approverKeys, ['role', 'group', 'user'], ({ role, group, user }, tell) => {
  if ([role, group, user].filter((value) => value !== null).length !== 1) tell('must have exactly one of role, group, user');
});
const approver = withRule(namedApprover, ['user', 'min'], ({ user, min }, tell) => {
  if (user !== null && min > 1) tell('must be 1 for a user', ['min']);
});

const step = z.strictObject({
  type: choice(['approval'], 'approval'),
  mode: choice(['all', 'any'], 'all'),
  approvers: z
    .array(approver, { error: (issue) => (issue.input === undefined ? 'is required' : undefined) })
    .refine((entries) => entries.length > 0, { message: 'must not be empty' }),
});

const workflowKeys = z.strictObject({
  ...pair,
  operations: list(operation),
  auto_approve: autoApprove.nullable().default(null),
  steps: z.array(step).default([]),
  require_reason: bool(false),
  allow_self_approve: bool(false),
  allow_same_approver_across_steps: bool(false),
  explain: bool(true),
  pending_ttl_secs: optionalInt(1),
  approval_ttl_secs: optionalInt(1),
  statement_timeout_secs: optionalInt(1, maxTimeoutSecs),
});
const workflow = withRule(workflowKeys, ['auto_approve.mode', 'steps'], ({ auto_approve: rule, steps }, tell) => {
  if (rule === null && steps.length === 0) tell('must have auto_approve or steps');
  if (rule?.mode === 'always' && steps.length > 0) tell('always takes no steps', ['auto_approve', 'mode']);
  if (rule?.mode === 'risk_based' && steps.length === 0) tell('risk_based needs steps', ['auto_approve', 'mode']);
});

const timeouts = ['statement_timeout_secs', 'migration_statement_timeout_secs'] as const;
const executionPolicyKeys = z.strictObject({
  ...pair,
  max_executions: int(1, 1),
  execution_window_secs: int(86_400, 1),
  retry_on_failure: bool(false),
  statement_timeout_secs: int(30, 1, maxTimeoutSecs),
  max_statement_timeout_secs: int(600, 1),
  max_rows: optionalInt(1),
  migration_lease_duration_secs: optionalInt(5),
  migration_statement_timeout_secs: optionalInt(0, maxTimeoutSecs, '; 0 = no limit'),
});
const executionPolicy = timeouts.reduce(
  (schema, key) =>
    withRule(schema, [key, 'max_statement_timeout_secs'], (keys, tell) => {
      if ((keys[key] ?? 0) > keys.max_statement_timeout_secs)
        tell(`must not exceed max_statement_timeout_secs (${keys.max_statement_timeout_secs})`, [key]);
    }),
  executionPolicyKeys,
);

const reviewAction = (fallback: 'block' | 'warn' | 'off') => choice(['block', 'warn', 'off'], fallback);

/** The review rules with their defaults, for what an entry leaves out and for the built-in policy. */
export const reviewRules = {
  no_where_delete: reviewAction('block'),
  no_where_update: reviewAction('block'),
  drop_table: reviewAction('block'),
  truncate: reviewAction('block'),
  drop_column: reviewAction('warn'),
  not_null_without_default: reviewAction('warn'),
  create_index_not_concurrently: reviewAction('warn'),
  alter_column_type: reviewAction('warn'),
  mixed_ddl_dml: reviewAction('warn'),
  large_in_list: reviewAction('warn'),
  drop_index: reviewAction('warn'),
  drop_view: reviewAction('warn'),
  drop_sequence: reviewAction('warn'),
  create_sequence: reviewAction('off'),
};

const sqlReview = z.strictObject({
  database: textOr('*', rules.nameOrStarNotAny),
  environment: textOr('*', rules.nameOrStarNotAny),
  migrations: reviewAction('warn'),
  ...reviewRules,
});

/** Entry schemas of the lists of sections 5 and 6, by the path of the list. */
export const listEntries = {
  'auth.roles': z.strictObject({
    name: text(rules.roleName),
    permissions: requiredList(rules.permission),
    databases: list(rules.nameOrStar),
    environments: list(rules.nameOrStar),
  }),
  'auth.groups': z.strictObject({ name: text(rules.groupName), roles: list(rules.roleName) }),
  databases: z.strictObject({
    name: text(rules.name),
    environments: requiredList(rules.name),
    dialect: optionalChoice(['postgresql', 'mysql']),
  }),
  workflows: workflow,
  execution_policies: executionPolicy,
  sql_review: sqlReview,
  result_policies: z.strictObject({
    ...pair,
    retention_days: int(30, 1, 3650),
    delivery_mode: choice(['both', 'stream'], 'both'),
    access: list(rules.accessEntry),
  }),
  webhooks: z.strictObject({
    id: text(rules.webhookId),
    url: text(rules.webhookUrl),
    events: list(rules.event),
    format: choice(['generic', 'slack'], 'generic'),
    secret: optionalText(rules.webhookSecret),
  }),
  notification_policies: z.strictObject({
    ...pair,
    webhooks: list(rules.webhookId),
    events: list(rules.event),
    slack_channels: optionalList(rules.slackChannel),
  }),
};
