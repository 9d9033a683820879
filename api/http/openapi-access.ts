import { PERMISSIONS, type Permission, type PermissionClass } from '../../domain/permission-table.js';
import type { Route } from './route.js';

/** Who may make a call, in sentences. */
export function accessText({ accessRule, ...route }: AccessOf): string {
  return accessRule === undefined ? baseText(route) : `${baseText(route)} ${accessRule}`;
}

type AccessOf = Pick<Route, 'access' | 'everywhere' | 'accessRule'>;

function baseText({ access, everywhere }: AccessOf): string {
  if (access === 'public') return 'No credential needed.';
  if (access === 'agent') return 'Needs an agent token.';
  if (access === 'authenticated') return 'Needs any user credential.';
  const names = typeof access === 'string' ? [access] : access.anyOf;
  const unless = typeof access === 'string' ? undefined : access.unless;
  const listed = names.map((name) => `\`${name}\``).join(', ');
  const needed = names.length === 1 ? `permission ${listed}` : `one of the permissions ${listed}`;
  return `Needs ${needed}${everywhere ? reaches.global : reachOf(names)}.${unless === undefined ? '' : ` With \`${unless}\` any user credential will do.`}`;
}

/** Which role a permission must come from, by its class. */
const reaches = {
  scoped: ' in a role that covers the database and environment',
  row: ' in any role; each entry must be covered by its databases and environments',
  self: ' in any role',
  global: ' in a role for all databases and environments',
  agent: '',
} as const satisfies Record<PermissionClass, string>;

const reachOf = ([first]: readonly Permission[]) => (first === undefined ? '' : reaches[PERMISSIONS[first].class]);
