import { useLocation } from 'preact-iso/router';
import { addressOf, type Filters, filtersIn } from '../format/filters.js';
import { type FieldOf, Fields, textsIn } from './fields.js';

interface FilterFormProps {
  label: string;
  /** The address of the list. */
  home: string;
  fields: readonly FieldOf[];
  filters: Filters;
}

/** The filters of a list, which stand in its address. A choice applies at once; what is typed, by Enter or the button. */
export function FilterForm({ label, home, fields, filters: { set } }: FilterFormProps) {
  const { route } = useLocation();
  return (
    <search aria-label={label}>
      <form
        class="filters"
        onChange={({ target, currentTarget }) => {
          if (target instanceof HTMLSelectElement || (target instanceof HTMLInputElement && target.type === 'checkbox'))
            currentTarget.requestSubmit();
        }}
        onSubmit={(event) => {
          event.preventDefault();
          route(addressOf(home, filtersIn(fields, textsIn(new FormData(event.currentTarget)))));
        }}
      >
        <Fields of={fields} values={Object.fromEntries(fields.map(({ name }) => [name, set[name] ?? '']))} />
        <div class="actions">
          <button type="submit">Filter</button>
          <a class="button" href={home}>
            Clear
          </a>
        </div>
      </form>
    </search>
  );
}
