import type { Pair } from '../domain/caller.js';
import { findRole } from '../domain/permissions.js';
import { matchPolicy } from '../domain/workflow-policy.js';
import type { Draft, Entry } from './draft.js';
import { UNREAD } from './leaf.js';
import { checkDefinedNames } from './name-checks.js';
import type { Findings } from './problems.js';
import { checkWebhooks } from './webhook-hosts.js';
import { checkWorkflows } from './workflow-checks.js';

/** Checks what entries say about each other, as far as they could be read: references (CF-10) and repeats (CF-5). */
export function checkReferences(draft: Draft, findings: Findings): void {
  checkDuplicates(draft, findings);
  checkDefinedNames(draft, findings);
  checkWebhooks(draft, findings);
  checkWorkflows(draft, findings);
  checkPairs(draft, findings);
}

function checkDuplicates({ lists }: Draft, findings: Findings): void {
  for (const list of ['execution_policies', 'sql_review', 'result_policies', 'notification_policies'] as const) {
    const seen = new Set<string>();
    for (const { path, value } of lists[list] as Entry<Pair>[]) {
      if (value.database === UNREAD || value.environment === UNREAD) continue;
      const pair = `${value.database} ${value.environment}`;
      if (seen.has(pair)) findings.error({ path, message: 'has the same database and environment as an earlier entry' });
      seen.add(pair);
    }
  }
  for (const { path, value } of lists['auth.roles']) {
    if (findRole(value.name, []) !== undefined)
      findings.error({ path: [...path, 'name'], message: 'is the name of a built-in role' });
  }
}

function checkPairs({ sections, lists }: Draft, findings: Findings): void {
  // A name that could not be read may be meant as any.
  const orAny = (name: string) => (name === UNREAD ? '*' : name);
  const workflows = lists.workflows.map(({ value }) => ({
    database: orAny(value.database),
    environment: orAny(value.environment),
  }));
  const environments = new Set<string>();
  for (const { path, value } of lists.databases) {
    for (const [index, environment] of value.environments.entries()) {
      environments.add(environment);
      if (value.name === UNREAD || environment === UNREAD) continue;
      if (matchPolicy(workflows, { database: value.name, environment }) !== null) continue;
      findings.warning({
        path: [...path, 'environments', index],
        message: `no workflow for ${value.name}/${environment}: requests on it are refused`,
      });
    }
  }
  const mcp = sections.mcp;
  if (mcp?.enabled && mcp.default_environment !== UNREAD && !environments.has(mcp.default_environment))
    findings.warning({
      path: ['mcp', 'default_environment'],
      message: `no database has the environment ${mcp.default_environment}`,
    });
}
