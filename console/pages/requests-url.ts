export interface Filters {
  status: string;
  operation: string;
  database: string;
  environment: string;
  user: string;
  pending_for_me: boolean;
  decided_by_me: boolean;
  offset: number;
}

export const pageSize = 50;

const texts = ['status', 'operation', 'database', 'environment', 'user'] as const;
const flags = ['pending_for_me', 'decided_by_me'] as const;

/** The filters in the query of an address; what is no filter is left out. */
export function filtersIn(query: Record<string, string>): Filters {
  const offset = Number(query.offset);
  return {
    ...(Object.fromEntries(texts.map((name) => [name, query[name] ?? ''])) as Record<(typeof texts)[number], string>),
    ...(Object.fromEntries(flags.map((name) => [name, query[name] === 'true'])) as Record<(typeof flags)[number], boolean>),
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  };
}

/** The address of a list with these filters. */
export function urlOf(filters: Filters): string {
  const given = [
    ...texts.flatMap((name) => (filters[name] === '' ? [] : [[name, filters[name]]])),
    ...flags.flatMap((name) => (filters[name] ? [[name, 'true']] : [])),
    ...(filters.offset > 0 ? [['offset', String(filters.offset)]] : []),
  ];
  return `/console/requests${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`;
}
