import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso/router';
import { counted } from '../format/counts.js';
import { addressOf, filtersIn } from '../format/filters.js';
import { type Loaded, useLoaded } from '../state/loaded.js';
import type { FieldOf } from './fields.js';
import { FilterForm } from './filter-form.js';
import { Show } from './page.js';
import { Pager } from './pager.js';

const pageSize = 50;

/** What every list of the API has beside its rows. */
interface Total {
  total: number;
  total_is_estimate: boolean;
}

/** A page of a list, and the filters by the names that the API has for them. */
export type Query = Readonly<Record<string, string | number>>;

interface FilteredListProps<Page> {
  label: string;
  /** The address of the list. */
  home: string;
  fields: readonly FieldOf[];
  load: (query: Query, signal: AbortSignal) => Promise<Page>;
  concerns?: Parameters<typeof useLoaded>[2];
  /** What a row is. */
  one: string;
  children: (page: Page) => ComponentChildren;
}

/** A list by its filters, page by page; both stand in the address. */
export function FilteredList<Page extends Total>({
  label,
  home,
  fields,
  load,
  concerns,
  one,
  children,
}: FilteredListProps<Page>) {
  const { query } = useLocation();
  const filters = filtersIn(fields, query);
  const { set, offset } = filters;
  const page: Loaded<Page> = useLoaded(
    addressOf(home, filters),
    (signal) => load({ ...set, limit: pageSize, offset }, signal),
    concerns,
  );
  const href = (to: number) => addressOf(home, { ...filters, offset: to });
  return (
    <>
      <FilterForm label={label} home={home} fields={fields} filters={filters} />
      <Show of={page}>
        {(found) => (
          <>
            <p class="quiet card-note" role="status">
              {found.total_is_estimate ? 'about ' : ''}
              {counted(found.total, one)}
            </p>
            {children(found)}
            <Pager offset={offset} size={pageSize} total={found.total} href={href} />
          </>
        )}
      </Show>
    </>
  );
}
