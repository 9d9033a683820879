export const filterNames = [
  'request_id',
  'actor_id',
  'event_type',
  'event_category',
  'outcome',
  'database',
  'environment',
  'operation',
  'since',
  'until',
] as const;

export type AuditFilters = Record<(typeof filterNames)[number], string> & { offset: number };

export function filtersIn(query: Record<string, string>): AuditFilters {
  const offset = Number(query.offset);
  const texts = Object.fromEntries(filterNames.map((name) => [name, query[name] ?? ''])) as Record<
    (typeof filterNames)[number],
    string
  >;
  return { ...texts, offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0 };
}

/** The filters that are set, as the API takes them. */
export function auditQuery(filters: AuditFilters): Record<string, string> {
  return Object.fromEntries(filterNames.flatMap((name) => (filters[name].trim() === '' ? [] : [[name, filters[name].trim()]])));
}

export function auditUrl(filters: AuditFilters): string {
  const query = new URLSearchParams({
    ...auditQuery(filters),
    ...(filters.offset > 0 ? { offset: String(filters.offset) } : {}),
  });
  return query.size === 0 ? '/console/audit' : `/console/audit?${query}`;
}
