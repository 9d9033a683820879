export type PermissionClass = 'scoped' | 'row' | 'self' | 'global' | 'agent';

const scoped = { class: 'scoped', ownable: false } as const;

const ownable = { class: 'scoped', ownable: true } as const;

const row = { class: 'row', ownable: false } as const;

const self = { class: 'self', ownable: false } as const;

const global = { class: 'global', ownable: false } as const;

/** The permissions of identity.md 4.1. */
export const PERMISSIONS = {
  'request.query': scoped,
  'request.dml': scoped,
  'request.ddl': scoped,
  'request.break_glass_query': scoped,
  'request.break_glass_dml': scoped,
  'request.break_glass_ddl': scoped,
  'request.view': ownable,
  'request.cancel': ownable,
  'request.resume': ownable,
  'request.preflight': scoped,
  'request.preflight_explain': scoped,
  'result.view': ownable,
  'workflow.read': row,
  'user.read': global,
  'user.write': global,
  'token.create': self,
  'token.revoke': self,
  'token.list': global,
  'token.create_agent': global,
  'token.reissue': global,
  'audit.read': row,
  'metrics.view': global,
  'agent.operate': { class: 'agent', ownable: false },
} as const satisfies Record<string, { class: PermissionClass; ownable: boolean }>;

export type Permission = keyof typeof PERMISSIONS;
