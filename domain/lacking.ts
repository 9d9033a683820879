import type { Caller, Pair } from './caller.js';
import { forbidden, type GatewayError } from './errors.js';
import { PERMISSIONS, type Permission } from './permission-table.js';
import { can } from './permissions.js';

/** A permission as roles spell it; `:any` = over the requests of others. */
type Wanted = Permission | `${Permission}:any`;

/**
 * The refusal for permissions that the caller's roles lack. Roles tell everybody what they hold (`GET /api/me`), and the pair may be named if the
 * caller named it or may see it; `null` leaves it out.
 */
export function lacking(wanted: readonly Wanted[], pair: Pair | null = null, join: 'and' | 'or' = 'and'): GatewayError {
  return forbidden(`you lack ${listed(wanted, join)}${whereOf(wanted, pair)}`);
}

/** Refuses callers whose roles give the permission for some pairs only, whatever its class. */
export function requireEverywhere(caller: Caller, wanted: Permission): void {
  if (!can(caller, wanted, 'everywhere')) throw forbidden(`you lack ${wanted}, in a role for all databases and environments`);
}

function whereOf(wanted: readonly Wanted[], pair: Pair | null): string {
  if (pair !== null) return ` on ${pair.database}/${pair.environment}`;
  const isGlobal = wanted.some((one) => PERMISSIONS[one.replace(':any', '') as Permission].class === 'global');
  return isGlobal ? ', in a role for all databases and environments' : '';
}

function listed(names: readonly string[], join: string): string {
  const before = names.slice(0, -1).join(', ');
  return before === '' ? names.join() : `${before} ${join} ${names.at(-1)}`;
}
