import { readFileSync } from 'node:fs';

export interface CatalogueRow {
  category: string;
  outcomes: string[];
  resource: string | null;
  /** Whether the actor is always `system`. */
  isSystem: boolean;
  /** Each form that the metadata may have. */
  forms: { key: string; isOptional: boolean }[][];
}

/** The table of events in docs/rules/audit.md, by event type. */
export function readCatalogue(): Map<string, CatalogueRow> {
  const text = readFileSync(new URL('../../docs/rules/audit.md', import.meta.url), 'utf8');
  const section = text.slice(text.indexOf('## 3. Catalogue'), text.indexOf('## 4. Hash chain'));
  const rows = section.split('\n').filter((line) => line.startsWith('| `') && !line.startsWith('| `event_type`'));
  return new Map(
    rows.flatMap((line) => {
      const [types = '', category = '', outcome = '', resource = '', notes = ''] = line.split('|').slice(1, -1);
      const names = fullNames(types);
      return names.map((name, at) => [name, rowOf({ category, resource, notes, outcome: outcomeOf(outcome, at, names.length) })]);
    }),
  );
}

/** `a.b` `.c` stands for a.b and a.c. */
function fullNames(cell: string): string[] {
  const names: string[] = [];
  for (const [, name = ''] of cell.matchAll(/`([^`]+)`/g))
    names.push(name.startsWith('.') ? `${names.at(-1)?.split('.')[0]}${name}` : name);
  return names;
}

/** `x / y` has one for each type of the row. */
function outcomeOf(cell: string, at: number, count: number): string {
  const each = cell.split('/');
  return each.length === count ? (each[at] ?? '') : cell;
}

function rowOf({
  category,
  resource,
  notes,
  outcome,
}: Record<'category' | 'resource' | 'notes' | 'outcome', string>): CatalogueRow {
  const forms = [...notes.matchAll(/\{([^}]*)\}/g)].map(([, keys = '']) =>
    keys.split(',').map((key) => ({ key: key.trim().replace('?', ''), isOptional: key.includes('?') })),
  );
  return {
    category: category.trim(),
    outcomes: outcome.match(/success|denied|failure|info/g) ?? [],
    resource: resource.trim() === '–' ? null : resource.trim(),
    isSystem: notes.includes('actor `system`'),
    forms: forms.length === 0 ? [[]] : forms,
  };
}

export interface StoredEvent {
  event_type: string;
  event_category: string;
  outcome: string;
  actor_id: string;
  resource_type: string | null;
  metadata_json: string;
}

/** What of an event is not as its row says; null if all is. Keys stand in the order of the row, then the channel and the caller's token (AU-20 to AU-22). */
export function deviation(row: CatalogueRow, event: StoredEvent): object | null {
  const keys = Object.keys(JSON.parse(event.metadata_json));
  if (keys.at(-1) === 'auth_token_id') keys.pop();
  // Of the creation of a request it is a key of its own.
  const isOwn = row.forms.some((form) => form.some(({ key }) => key === 'channel'));
  if (keys.at(-1) === 'channel' && !isOwn) keys.pop();
  const fits = row.forms.some((form) => {
    const expected = form.filter(({ key, isOptional }) => !isOptional || keys.includes(key)).map(({ key }) => key);
    return expected.join() === keys.join();
  });
  const isRight =
    fits && event.event_category === row.category && row.outcomes.includes(event.outcome) && event.resource_type === row.resource;
  return isRight ? null : { ...event, keys };
}
