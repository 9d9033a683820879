import type { EffectiveRole, Pair } from './caller.js';

/** Names are `[a-z][a-z0-9_-]*`; in policies database and environment may be `*`. */
export interface RegisteredDatabase {
  name: string;
  environments: string[];
  /** null = learnt from the schema sync (AG-74). */
  dialect: 'postgresql' | 'mysql' | null;
}

export type RiskThreshold = 'low' | 'medium' | 'high';

/** What a request may come through; the command line is the API. */
export const CHANNELS = ['api', 'slack', 'mcp'] as const;
export type Channel = (typeof CHANNELS)[number];

export interface AutoApproveRule {
  mode: 'always' | 'risk_based';
  /** Never null for `risk_based`. */
  risk: RiskThreshold | null;
  allowReadOnly: boolean;
  allowSafeDdl: boolean;
  maxEstimatedRows: number;
  /** Absent in rows stored before the key existed; the default applies then. */
  maxSnapshotAgeSecs?: number;
  /** Empty = all. Absent in rows stored before the key existed. */
  channels?: Channel[];
}

export interface ApprovalStage {
  mode: 'all' | 'any';
  approvers: { selector: string; min: number }[];
}

export interface WorkflowPolicy {
  /** `wf:<db>:<env>:<12 hex>` (PO-11). */
  id: string;
  database: string;
  environment: string;
  /** Empty = all six. */
  operations: Operation[];
  autoApprove: AutoApproveRule | null;
  steps: ApprovalStage[];
  requireReason: boolean;
  allowSelfApprove: boolean;
  allowSameApproverAcrossSteps: boolean;
  explain: boolean;
  /** null = `retention.approval_ttl_secs`. */
  pendingTtlSecs: number | null;
  approvalTtlSecs: number | null;
  statementTimeoutSecs: number | null;
}

export interface ExecutionPolicy {
  /** `ep:<db>:<env>` */
  id: string;
  database: string;
  environment: string;
  maxExecutions: number;
  executionWindowSecs: number;
  retryOnFailure: boolean;
  statementTimeoutSecs: number;
  maxStatementTimeoutSecs: number;
  maxRows: number | null;
  migrationLeaseDurationSecs: number | null;
  /** null and 0 = no limit. */
  migrationStatementTimeoutSecs: number | null;
}

export type ReviewAction = 'block' | 'warn' | 'off';

/** The codes of the review rules, spelt as in findings and in `server.toml`. */
export type ReviewRule =
  | 'no_where_delete'
  | 'no_where_update'
  | 'drop_table'
  | 'truncate'
  | 'drop_column'
  | 'not_null_without_default'
  | 'create_index_not_concurrently'
  | 'alter_column_type'
  | 'mixed_ddl_dml'
  | 'large_in_list'
  | 'drop_index'
  | 'drop_view'
  | 'drop_sequence'
  | 'create_sequence';

export interface ReviewPolicy {
  /** `srp:<db>:<env>`, `any` for `*` */
  id: string;
  database: string;
  environment: string;
  /** What a blocking finding in a migration does; `off` suppresses findings. Absent in rows stored before the key existed; it is a warning then. */
  migrations?: ReviewAction;
  rules: Record<ReviewRule, ReviewAction>;
}

export interface ResultPolicy {
  /** `rp:<db>:<env>` */
  id: string;
  database: string;
  environment: string;
  retentionDays: number;
  deliveryMode: 'both' | 'stream';
  /** Selectors `user:`, `group:`, `role:`, or `requester`. */
  access: string[];
}

/** The shared part of a webhook: never its URL or secret (CF-31). */
export interface SharedWebhook {
  id: string;
  /** Empty = all (NT-10). */
  events: string[];
  format: 'generic' | 'slack';
}

export interface NotificationPolicy {
  /** `np:<db>:<env>` */
  id: string;
  database: string;
  environment: string;
  webhooks: string[];
  events: string[];
  /** null = `slack.channel`; empty = no Slack (NT-12). */
  slackChannels: string[] | null;
}

/** In the order of PO-3. */
export const OPERATIONS = [
  'execute_select',
  'execute_dml',
  'migrate_up',
  'migrate_down',
  'migrate_status',
  'migrate_repair',
] as const;

export type Operation = (typeof OPERATIONS)[number];

/** The `S` part of `server.toml`: plain JSON, the content of a generation (CF-30). Policies are in file order and carry their derived ids (PO-11). */
export interface SharedConfig {
  auth: {
    defaultRole: string | null;
    /** Custom roles only. Permissions are parsed and empty scopes replaced by `['*']` (IM-50). */
    roles: EffectiveRole[];
    groups: { name: string; roles: string[] }[];
  };
  databases: RegisteredDatabase[];
  workflows: WorkflowPolicy[];
  executionPolicies: ExecutionPolicy[];
  sqlReview: ReviewPolicy[];
  resultPolicies: ResultPolicy[];
  webhooks: SharedWebhook[];
  notificationPolicies: NotificationPolicy[];
}

/** Every database in each of its environments. */
export const registeredPairs = ({ databases }: SharedConfig): Pair[] =>
  databases.flatMap(({ name: database, environments }) => environments.map((environment) => ({ database, environment })));

/** What tells two versions of a policy apart, since ids do not change with the content (PO-11). */
export interface PolicyVersion {
  /** `r<number>` of the generation that last changed it; null for a policy that no file has. */
  revision: string | null;
  digest: string;
}
