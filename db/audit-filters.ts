import { type AuditEvent, exactFilters } from '../domain/audit/event.js';
import type { EffectiveRole } from '../domain/caller.js';
import { isUnrestricted } from '../domain/permissions.js';
import { isUuid } from '../lib/uuid.js';
import type { Parameters } from './parameters.js';

export interface AuditFilters extends Partial<Record<keyof typeof exactFilters, string | undefined>> {
  /** UTC text with six fraction digits, like `created_at`. Both ends are inclusive. */
  since?: string | undefined;
  until?: string | undefined;
}

/** Which events a caller asks for, of those that the roles open. */
export interface AuditQuery {
  roles: readonly EffectiveRole[];
  filters: AuditFilters;
}

/** The condition of the events that pass the filters and that the roles open. */
export function visible({ roles, filters }: AuditQuery, { add }: Parameters): string {
  const inside = roles.map((role) => insideRole(role, add)).join(' or ') || 'false';
  return [...filterConditions(filters, add), `(${inside})`].join(' and ');
}

export const exactValues = (filters: AuditFilters): [column: keyof AuditEvent, value: string][] =>
  Object.entries(exactFilters).flatMap(([name, column]) => {
    const value = filters[name as keyof typeof exactFilters];
    return value === undefined ? [] : [[column, value]];
  });

function filterConditions(filters: AuditFilters, add: Parameters['add']): string[] {
  const conditions = exactValues(filters).map(([column, value]) => {
    if (column !== 'request_id') return `${column} = ${add(value)}`;
    return isUuid(value) ? `request_id = ${add(value)}::uuid` : 'false';
  });
  // Stored instants are texts of one form, so they compare as texts.
  if (filters.since !== undefined) conditions.push(`created_at >= ${add(filters.since)}`);
  if (filters.until !== undefined) conditions.push(`created_at <= ${add(filters.until)}`);
  return conditions;
}

/** Only unrestricted roles see events without a database (identity 4.1). */
function insideRole(role: EffectiveRole, add: Parameters['add']): string {
  if (isUnrestricted(role)) return 'true';
  const inside = (column: string, names: string[]) =>
    names.includes('*') ? `${column} is not null` : `${column} = any(${add(names)}::text[])`;
  return `(${inside('database_name', role.databases)} and ${inside('environment', role.environments)})`;
}
