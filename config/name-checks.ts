import { findRole } from '../domain/permissions.js';
import { parseSelector } from '../domain/selectors.js';
import type { Draft } from './draft.js';
import { UNREAD } from './leaf.js';
import type { Path } from './positions.js';
import type { Findings } from './problems.js';

/** Roles, groups and webhooks that anything but a workflow names must be defined (CF-10). */
export function checkDefinedNames(draft: Draft, findings: Findings): void {
  checkAuth(draft, findings);
  checkOnboarding(draft, findings);
  for (const { path, value } of draft.lists.result_policies) {
    for (const [index, entry] of value.access.entries()) {
      const selector = parseSelector(entry);
      const at = [...path, 'access', index];
      if (selector?.kind === 'role') requireRole(selector.name, at, draft, findings);
      if (selector?.kind === 'group') requireGroup(selector.name, at, draft, findings);
    }
  }
  for (const { path, value } of draft.lists.notification_policies) {
    for (const [index, id] of value.webhooks.entries()) {
      if (id !== UNREAD && !draft.names.webhooks.has(id))
        findings.error({ path: [...path, 'webhooks', index], message: `webhook ${id} is not defined` });
    }
  }
}

/** Reports a role that is neither built in nor in `[[auth.roles]]`. */
export function requireRole(role: string, path: Path, { names }: Draft, findings: Findings): void {
  if (role === UNREAD || findRole(role, []) !== undefined || names['auth.roles'].has(role)) return;
  findings.error({ path, message: `role ${role} is not defined`, hint: 'define it in [[auth.roles]]' });
}

/** Reports a group that is not in `[[auth.groups]]`; only as a warning if there is an identity provider, which may know it. */
export function requireGroup(group: string, path: Path, { names, sections }: Draft, findings: Findings): void {
  if (group === UNREAD || names['auth.groups'].has(group)) return;
  const message = `group ${group} is not defined`;
  if (sections.auth?.oidc) findings.warning({ path, message, hint: 'only the identity provider can give it' });
  else findings.error({ path, message, hint: 'define it in [[auth.groups]]' });
}

function checkAuth(draft: Draft, findings: Findings): void {
  const { auth } = draft.sections;
  if (auth?.default_role) requireUserRole(auth.default_role, ['auth', 'default_role'], draft, findings);
  if (auth?.oidc?.default_role) requireRole(auth.oidc.default_role, ['auth', 'oidc', 'default_role'], draft, findings);
  for (const [index, { role }] of (auth?.oidc?.role_mappings ?? []).entries())
    requireRole(role, ['auth', 'oidc', 'role_mappings', index, 'role'], draft, findings);
  for (const { path, value } of draft.lists['auth.groups']) {
    for (const [index, role] of value.roles.entries()) requireRole(role, [...path, 'roles', index], draft, findings);
  }
}

function checkOnboarding(draft: Draft, findings: Findings): void {
  const onboarding = draft.sections.slack?.onboarding;
  const path = ['slack', 'onboarding'];
  for (const [index, role] of (onboarding?.assignable_roles ?? []).entries())
    requireUserRole(role, [...path, 'assignable_roles', index], draft, findings);
  for (const [index, group] of (onboarding?.assignable_groups ?? []).entries()) {
    if (group === UNREAD || draft.names['auth.groups'].has(group)) continue;
    findings.error({
      path: [...path, 'assignable_groups', index],
      message: `group ${group} is not defined`,
      hint: 'define it in [[auth.groups]]',
    });
  }
}

function requireUserRole(role: string, path: Path, draft: Draft, findings: Findings): void {
  if (role === 'agent-default') findings.error({ path, message: 'agent-default is for agents only' });
  else requireRole(role, path, draft, findings);
}
