import { type AuditEvent, auditEventKeys, exactFilters } from '../domain/audit/event.js';
import type { EffectiveRole } from '../domain/caller.js';
import type { Queryable } from './client.js';
import { type Parameters, parameters } from './parameters.js';

export interface AuditFilters extends Partial<Record<keyof typeof exactFilters, string | undefined>> {
  /** UTC text with six fraction digits, like `created_at`. Both ends are inclusive. */
  since?: string | undefined;
  until?: string | undefined;
}

const columns = auditEventKeys.join(', ');

/** One page of the events that these roles open, and their total. Newest first, unsealed events before sealed ones (AU-60, AU-61). */
export async function searchAuditEvents(
  db: Queryable,
  roles: readonly EffectiveRole[],
  filters: AuditFilters,
  page: { limit: number; offset: number },
): Promise<{ events: AuditEvent[]; total: number }> {
  const { values, add } = parameters();
  const where = visible(roles, filters, add);
  const [counted] = await db.query<{ total: number }>(`select count(*) as total from audit_events where ${where}`, values);
  const events = await db.query<AuditEvent>(
    `select ${columns} from audit_events where ${where}
     order by seq is null desc, seq desc, position desc limit ${add(page.limit)} offset ${add(page.offset)}`,
    values,
  );
  return { events, total: counted?.total ?? 0 };
}

/** The condition of the events that pass the filters and that these roles open. */
export function visible(roles: readonly EffectiveRole[], filters: AuditFilters, add: Parameters['add']): string {
  const inside = roles.map((role) => insideRole(role, add)).join(' or ') || 'false';
  return [...filterConditions(filters, add), `(${inside})`].join(' and ');
}

function filterConditions(filters: AuditFilters, add: Parameters['add']): string[] {
  const conditions = Object.entries(exactFilters).flatMap(([name, column]) => {
    const value = filters[name as keyof typeof exactFilters];
    // As text: a value that is no UUID matches nothing.
    return value === undefined ? [] : [`${column}${column === 'request_id' ? '::text' : ''} = ${add(value)}`];
  });
  // Stored instants are texts of one form, so they compare as texts.
  if (filters.since !== undefined) conditions.push(`created_at >= ${add(filters.since)}`);
  if (filters.until !== undefined) conditions.push(`created_at <= ${add(filters.until)}`);
  return conditions;
}

/** Only unrestricted roles see events without a database (identity 4.1). */
function insideRole({ databases, environments }: EffectiveRole, add: Parameters['add']): string {
  if (databases.includes('*') && environments.includes('*')) return 'true';
  const inside = (column: string, names: string[]) =>
    names.includes('*') ? `${column} is not null` : `${column} = any(${add(names)}::text[])`;
  return `(${inside('database_name', databases)} and ${inside('environment', environments)})`;
}
