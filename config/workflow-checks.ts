import type { Pair } from '../domain/caller.js';
import { coversPair } from '../domain/selectors.js';
import type { Draft, Entry } from './draft.js';
import { UNREAD } from './leaf.js';
import { requireGroup, requireRole } from './name-checks.js';
import type { Path } from './positions.js';
import type { Findings } from './problems.js';

type Workflow = Draft['lists']['workflows'][number]['value'];
type Approver = Workflow['steps'][number]['approvers'][number];

/** The rules of WF-5 and CF-10 that look at more than one key of the workflows. */
export function checkWorkflows(draft: Draft, findings: Findings): void {
  checkOverlaps(draft.lists.workflows, findings);
  for (const workflow of draft.lists.workflows) {
    checkRegistered(workflow, draft, findings);
    checkRepeatedApprovers(workflow, findings);
    forEachApprover(workflow, (value, path) => checkDefined({ path, value }, workflow.value, draft, findings));
  }
}

/** `role:`, `group:` or `user:` with its name. */
export function selectorOf({ role, group, user }: Approver): string {
  if (role !== null) return `role:${role}`;
  return group !== null ? `group:${group}` : `user:${user}`;
}

/** Two workflows of one pair must differ in operations, so that WF-1 never has a tie. */
function checkOverlaps(workflows: Entry<Workflow>[], findings: Findings): void {
  const operationsOf = new Map<string, Set<string>>();
  for (const { path, value } of workflows) {
    if (isUnread(value)) continue;
    const pair = `${value.database} ${value.environment}`;
    const earlier = operationsOf.get(pair);
    // An empty set means all operations.
    if (earlier !== undefined && (value.operations.length === 0 || earlier.size === 0))
      findings.error({ path, message: 'covers all operations, but another workflow has the same database and environment' });
    for (const [at, operation] of value.operations.entries()) {
      if (operation !== UNREAD && earlier?.has(operation))
        findings.error({
          path: [...path, 'operations', at],
          message: `another workflow with the same database and environment covers ${operation}`,
        });
    }
    const isForAll = value.operations.length === 0 || earlier?.size === 0;
    operationsOf.set(pair, new Set(isForAll ? [] : [...(earlier ?? []), ...value.operations]));
  }
}

function checkRegistered({ path, value }: Entry<Workflow>, { lists, names }: Draft, findings: Findings): void {
  if (isUnread(value)) return;
  if (value.database !== '*' && !names.databases.has(value.database))
    findings.warning({ path: [...path, 'database'], message: `database ${value.database} is not defined` });
  if (value.environment === '*') return;
  const databases = lists.databases.filter((entry) => value.database === '*' || entry.value.name === value.database);
  if (databases.length > 0 && !databases.some((entry) => entry.value.environments.includes(value.environment)))
    findings.warning({
      path: [...path, 'environment'],
      message: `none of its databases has the environment ${value.environment}`,
    });
}

function checkRepeatedApprovers(workflow: Entry<Workflow>, findings: Findings): void {
  const steps = new Map<string, number>();
  const inStep = new Set<string>();
  forEachApprover(workflow, (approver, path, step) => {
    const selector = selectorOf(approver);
    if (inStep.has(`${step} ${selector}`)) findings.warning({ path, message: `${selector} is twice in this step` });
    inStep.add(`${step} ${selector}`);
    const first = steps.get(selector) ?? step;
    steps.set(selector, first);
    if (first === step || workflow.value.allow_same_approver_across_steps) return;
    if (approver.user !== null)
      findings.error({
        path,
        message: 'the same user in two steps, whose approvers must differ',
        hint: 'or set allow_same_approver_across_steps',
      });
    else findings.warning({ path, message: `${selector} is in several steps, whose approvers must differ` });
  });
}

function checkDefined({ path, value }: Entry<Approver>, workflow: Workflow, draft: Draft, findings: Findings): void {
  const { role, group } = value;
  if (role !== null) {
    requireRole(role, [...path, 'role'], draft, findings);
    const custom = draft.lists['auth.roles'].find(({ value }) => value.name === role)?.value;
    if (role === 'agent-default' || (custom !== undefined && !coversPair(scopeOf(custom), workflow)))
      findings.warning({ path: [...path, 'role'], message: `no user can hold role ${role} here` });
  }
  if (group !== null) requireGroup(group, [...path, 'group'], draft, findings);
}

function forEachApprover({ path, value }: Entry<Workflow>, visit: (approver: Approver, path: Path, step: number) => void): void {
  for (const [step, { approvers }] of value.steps.entries()) {
    for (const [index, approver] of approvers.entries())
      if (isNamed(approver)) visit(approver, [...path, 'steps', step, 'approvers', index], step);
  }
}

/** An approver that could be read names one of the three. */
const isNamed = ({ role, group, user }: Approver) => [role, group, user].filter((name) => name !== null).length === 1;

/** Empty lists mean all (IM-50). */
const scopeOf = (role: { databases: string[]; environments: string[] }) => ({
  databases: role.databases.length === 0 ? ['*'] : role.databases,
  environments: role.environments.length === 0 ? ['*'] : role.environments,
});

const isUnread = ({ database, environment }: Pair) => database === UNREAD || environment === UNREAD;
