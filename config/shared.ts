import { sha256Hex } from '../crypto/hash.js';
import type { EffectiveRole, Pair } from '../domain/caller.js';
import { canonicalJson } from '../domain/canonical-json.js';
import { parsePermission } from '../domain/permissions.js';
import type { ReviewAction, ReviewPolicy, ReviewRule, SharedConfig, WorkflowPolicy } from '../domain/policies.js';
import { CHANNELS, type Channel, OPERATIONS, type Operation } from '../domain/policies.js';
import { camelKeys } from './camel.js';
import type { CompleteDraft } from './draft.js';
import { reviewRules } from './policy-schema.js';
import { selectorOf } from './workflow-checks.js';

/**
 * What a generation stores, as canonical JSON (sorted keys, no white space), and the SHA-256 by which two are compared (CF-30).
 */
export function sharedContent(shared: SharedConfig): { content: string; digest: string } {
  const content = canonicalJson(JSON.stringify(shared));
  return { content, digest: sha256Hex(content) };
}

/** The sections in which two shared parts differ, by their names in the file. Before the first generation there is none, as in a file without sections. */
export function changedSections(before: SharedConfig | null, after: SharedConfig): string[] {
  return Object.entries(SECTION_NAMES).flatMap(([name, read]) => {
    const textOf = (shared: SharedConfig) => canonicalJson(JSON.stringify(read(shared)));
    const now = textOf(after);
    const isUnchanged = before === null ? ['null', '[]'].includes(now) : now === textOf(before);
    return isUnchanged ? [] : [name];
  });
}

/** The sections of the shared part by their names in the file. */
const SECTION_NAMES: Readonly<Record<string, (shared: SharedConfig) => unknown>> = {
  'auth.default_role': (shared) => shared.auth.defaultRole,
  'auth.roles': (shared) => shared.auth.roles,
  'auth.groups': (shared) => shared.auth.groups,
  databases: (shared) => shared.databases,
  workflows: (shared) => shared.workflows,
  execution_policies: (shared) => shared.executionPolicies,
  sql_review: (shared) => shared.sqlReview,
  result_policies: (shared) => shared.resultPolicies,
  webhooks: (shared) => shared.webhooks,
  notification_policies: (shared) => shared.notificationPolicies,
};

/** The `S` part of a file without errors; ids by PO-11. */
export function buildShared({ sections, lists }: Pick<CompleteDraft, 'sections' | 'lists'>): SharedConfig {
  const values = <T>(entries: { value: T }[]) => entries.map(({ value }) => value);
  const withId = <T extends Pair>(prefix: string, value: T) => ({
    id: `${prefix}:${value.database}:${value.environment}`,
    ...camelKeys(value),
  });
  return {
    auth: {
      defaultRole: sections.auth.default_role,
      roles: values(lists['auth.roles']).map(toRole),
      groups: values(lists['auth.groups']),
    },
    databases: values(lists.databases),
    workflows: values(lists.workflows).map(toWorkflow),
    executionPolicies: values(lists.execution_policies).map((value) => withId('ep', value)),
    sqlReview: values(lists.sql_review).map(toSqlReview),
    resultPolicies: values(lists.result_policies).map((value) => withId('rp', value)),
    webhooks: values(lists.webhooks).map(({ id, events, format }) => ({ id, events, format })),
    notificationPolicies: values(lists.notification_policies).map((value) => withId('np', value)),
  };
}

/** PO-11: `wf:<db>:<env>:<12 hex of the SHA-256 of the sorted operations>`. */
function workflowId(database: string, environment: string, operations: readonly string[]): string {
  return `wf:${database}:${environment}:${sha256Hex([...operations].sort().join(',')).slice(0, 12)}`;
}

type Lists = CompleteDraft['lists'];

function toRole({ name, permissions, databases, environments }: Lists['auth.roles'][number]['value']): EffectiveRole {
  return {
    name,
    permissions: permissions.map(parsePermission).filter((parsed) => typeof parsed !== 'string'),
    databases: databases.length === 0 ? ['*'] : databases,
    environments: environments.length === 0 ? ['*'] : environments,
  };
}

const toAutoApprove = ({ channels, ...value }: NonNullable<Lists['workflows'][number]['value']['auto_approve']>) => ({
  ...camelKeys(value),
  channels: channels.filter((text): text is Channel => CHANNELS.some((known) => known === text)),
});

function toWorkflow({
  operations,
  steps,
  auto_approve: autoApprove,
  ...value
}: Lists['workflows'][number]['value']): WorkflowPolicy {
  return {
    id: workflowId(value.database, value.environment, operations),
    ...camelKeys(value),
    autoApprove: autoApprove && toAutoApprove(autoApprove),
    operations: operations.filter((text): text is Operation => OPERATIONS.some((known) => known === text)),
    steps: steps.map(({ mode, approvers }) => ({
      mode,
      approvers: approvers.map((approver) => ({ selector: selectorOf(approver), min: approver.min })),
    })),
  };
}

function toSqlReview({ database, environment, migrations, ...rules }: Lists['sql_review'][number]['value']): ReviewPolicy {
  const any = (name: string) => (name === '*' ? 'any' : name);
  return { id: `srp:${any(database)}:${any(environment)}`, database, environment, migrations, rules };
}

/** The review policy in force where no `[[sql_review]]` entry matches (WF-2, PO-11). */
export const BUILTIN_REVIEW: ReviewPolicy = {
  id: 'builtin-default',
  database: '*',
  environment: '*',
  migrations: 'warn',
  rules: Object.fromEntries(Object.entries(reviewRules).map(([rule, schema]) => [rule, schema.parse(undefined)])) as Record<
    ReviewRule,
    ReviewAction
  >,
};
