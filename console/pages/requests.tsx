import type { RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { withCommas } from '../../lib/counts.js';
import { statuses, statusShown } from '../format/status.js';
import { useRowKeys } from '../frame/row-keys.js';
import { answer, api, type Schema } from '../http/client.js';
import { Field } from '../parts/field.js';
import { Page, Show } from '../parts/page.js';
import { Pager } from '../parts/pager.js';
import { RequestRow } from '../parts/request-row.js';
import { Empty } from '../parts/section.js';
import { useLoaded } from '../state/loaded.js';
import { type Filters, filtersIn, pageSize, urlOf } from './requests-url.js';

/** The list with the filters of the API, which stand in the address. */
export function Requests() {
  const { query, route } = useLocation();
  const list = useRef<HTMLUListElement>(null);
  const first = useRef<HTMLInputElement>(null);
  const filters = filtersIn(query);
  const page = useLoaded(
    urlOf(filters),
    (signal) => load(filters, signal),
    () => true,
  );
  useRowKeys(list, first);
  return (
    <Page title="Requests" lead="Newest first. The address holds the filters: send it, or keep it.">
      <FilterForm key={urlOf(filters)} filters={filters} first={first} onApply={(chosen) => route(urlOf(chosen))} />
      <Show of={page}>
        {({ requests, total, total_is_estimate }) => (
          <>
            <p class="quiet card-note" role="status">
              {total_is_estimate ? 'about ' : ''}
              {withCommas(total)} {total === 1 ? 'request' : 'requests'}
            </p>
            {requests.length === 0 ? (
              <Empty>No request that you may see matches.</Empty>
            ) : (
              <ul class="rows card" ref={list}>
                {requests.map((request) => (
                  <RequestRow key={request.id} request={request} />
                ))}
              </ul>
            )}
            <Pager offset={filters.offset} size={pageSize} total={total} href={(offset) => urlOf({ ...filters, offset })} />
          </>
        )}
      </Show>
    </Page>
  );
}

function load({ offset, pending_for_me, decided_by_me, ...rest }: Filters, signal: AbortSignal) {
  const named = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== ''));
  const flags = { ...(pending_for_me ? { pending_for_me } : {}), ...(decided_by_me ? { decided_by_me } : {}) };
  const query = { limit: pageSize, offset, ...named, ...flags };
  return answer<Schema['RequestList']>(api.GET('/api/requests', { params: { query }, signal }));
}

const operations = ['execute_select', 'execute_dml', 'migrate_up', 'migrate_down', 'migrate_status', 'migrate_repair'];

interface FormProps {
  filters: Filters;
  first: RefObject<HTMLInputElement | null>;
  onApply: (filters: Filters) => void;
}

function FilterForm({ filters, first, onApply }: FormProps) {
  const [draft, setDraft] = useState(filters);
  const set = (change: Partial<Filters>) => setDraft({ ...draft, ...change, offset: 0 });
  /** A choice applies at once; what is typed, by Enter. */
  const choose = (change: Partial<Filters>) => onApply({ ...draft, ...change, offset: 0 });
  return (
    <search aria-label="Requests">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          onApply(draft);
        }}
      >
        <Field label="Status">
          {(id) => (
            <select id={id} value={draft.status} onChange={(event) => choose({ status: event.currentTarget.value })}>
              <option value="">any</option>
              {statuses.map((status) => (
                <option key={status} value={status}>
                  {statusShown(status).word}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Operation">
          {(id) => (
            <select id={id} value={draft.operation} onChange={(event) => choose({ operation: event.currentTarget.value })}>
              <option value="">any</option>
              {operations.map((operation) => (
                <option key={operation}>{operation}</option>
              ))}
            </select>
          )}
        </Field>
        {(['database', 'environment', 'user'] as const).map((name, index) => (
          <Field key={name} label={name === 'user' ? 'Requester' : `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`}>
            {(id) => (
              <input
                id={id}
                ref={index === 0 ? first : null}
                value={draft[name]}
                onInput={(event) => set({ [name]: event.currentTarget.value })}
              />
            )}
          </Field>
        ))}
        <fieldset class="checks">
          <legend class="hidden">Only those</legend>
          <label>
            <input
              type="checkbox"
              checked={draft.pending_for_me}
              onChange={(event) => choose({ pending_for_me: event.currentTarget.checked })}
            />
            waiting for me
          </label>
          <label>
            <input
              type="checkbox"
              checked={draft.decided_by_me}
              onChange={(event) => choose({ decided_by_me: event.currentTarget.checked })}
            />
            decided by me
          </label>
        </fieldset>
        <div class="actions">
          <button type="submit">Filter</button>
          <a class="button" href="/console/requests">
            Clear
          </a>
        </div>
      </form>
    </search>
  );
}
