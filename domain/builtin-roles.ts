import type { EffectiveRole } from './caller.js';
import type { Permission } from './permission-table.js';

const REQUESTER: Permission[] = [
  'request.query',
  'request.dml',
  'request.ddl',
  'request.view',
  'request.cancel',
  'request.resume',
  'request.preflight',
  'request.preflight_explain',
  'result.view',
  'workflow.read',
  'token.create',
  'token.revoke',
];
const APPROVER: Permission[] = ['request.view', 'result.view', 'workflow.read', 'token.create', 'token.revoke'];
const DBA: Permission[] = [
  ...REQUESTER,
  'request.break_glass_query',
  'request.break_glass_dml',
  'request.break_glass_ddl',
  'audit.read',
  'metrics.view',
];

/** The roles of identity.md 4.2. No custom role may take one of these names. */
export const BUILTIN_ROLES: readonly EffectiveRole[] = [
  builtin('requester', REQUESTER),
  builtin('approver', APPROVER),
  builtin('dba', DBA),
  { name: 'admin', permissions: [{ perm: '*', ownership: 'any' }], databases: ['*'], environments: ['*'] },
  builtin('agent-default', ['agent.operate']),
];

function builtin(name: string, permissions: Permission[]): EffectiveRole {
  return { name, permissions: permissions.map((perm) => ({ perm, ownership: 'own' })), databases: ['*'], environments: ['*'] };
}
