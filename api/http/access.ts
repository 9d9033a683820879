import type { Caller } from '../../domain/caller.js';
import { forbidden, refusal } from '../../domain/errors.js';
import { lacking } from '../../domain/lacking.js';
import { PERMISSIONS, type Permission } from '../../domain/permission-table.js';
import { can } from '../../domain/permissions.js';
import type { Services } from '../context.js';
import { parseQuery } from './query.js';
import { permissionsOf, type Route } from './route.js';

/** Whether the caller may make this kind of call at all. What depends on a row is up to the handler. */
export function checkAccess(route: Route, caller: Caller, call: { search: string }): void {
  const { access } = route;
  if (access === 'public') return;
  if ((access === 'agent') !== (caller.kind === 'agent'))
    throw forbidden(access === 'agent' ? 'this takes an agent token' : 'this takes the token of a user');
  if (access === 'agent' || access === 'authenticated' || isFree(route, call)) return;
  const holds = (permission: Permission) =>
    can(caller, permission, PERMISSIONS[permission].class === 'global' ? 'everywhere' : 'somewhere');
  if (!permissionsOf(route).some(holds)) throw lacking(permissionsOf(route), null, 'or');
}

/** Whether a flag of the query takes the need of a permission away. */
function isFree({ access, query }: Route, { search }: { search: string }): boolean {
  if (typeof access === 'string' || access.unless === undefined || query === undefined) return false;
  try {
    return (parseQuery(query, search) as Record<string, unknown>)[access.unless] === true;
  } catch {
    // Whoever names the flag hears after this check what is wrong with the query; others are refused here (HT-14).
    return new URLSearchParams(search).has(access.unless);
  }
}

/** HD-11: with `agents.require_scopes`, an agent token must have scopes. */
export function checkScopes(services: Services, { access, evenUnscoped }: Route, caller: Caller): void {
  if (access !== 'agent' || evenUnscoped || caller.kind !== 'agent' || caller.agentScopes !== null) return;
  if (!services.config().agents.requireScopes) return;
  throw refusal(
    'auth.forbidden',
    'this agent token has no scopes',
    'make one with: svc token create --agent NAME --scope DATABASE/ENVIRONMENT',
  );
}
