/** The filters of a list, as they stand in its address, and where its page begins. */
export interface Filters {
  set: Readonly<Record<string, string>>;
  offset: number;
}

/** Those of these names in the query of an address, or in a form; what is no filter is left out. */
export function filtersIn(of: readonly { name: string }[], query: Readonly<Record<string, string>>): Filters {
  const offset = Number(query.offset);
  const given = of.map(({ name }) => [name, (query[name] ?? '').trim()] as const);
  return {
    set: Object.fromEntries(given.filter(([, text]) => text !== '')),
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  };
}

export function addressOf(home: string, { set, offset }: Filters): string {
  const query = new URLSearchParams({ ...set, ...(offset > 0 ? { offset: String(offset) } : {}) });
  return query.size === 0 ? home : `${home}?${query}`;
}
