import { useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { withCommas } from '../../lib/counts.js';
import { requestFields } from '../format/filter-fields.js';
import { addressOf, type Filters, filtersIn } from '../format/filters.js';
import { useRowKeys } from '../frame/row-keys.js';
import { answer, api, type Schema } from '../http/client.js';
import { FilterForm } from '../parts/filter-form.js';
import { Page, Show } from '../parts/page.js';
import { Pager } from '../parts/pager.js';
import { RequestRow } from '../parts/request-row.js';
import { Empty } from '../parts/section.js';
import { useLoaded } from '../state/loaded.js';
import { usePairNames } from '../state/pair-names.js';

const home = '/console/requests';
const pageSize = 50;

/** The list with the filters of the API, which stand in the address. */
export function Requests() {
  const { query } = useLocation();
  const list = useRef<HTMLUListElement>(null);
  const fields = requestFields(usePairNames());
  const filters = filtersIn(fields, query);
  const page = useLoaded(
    addressOf(home, filters),
    (signal) => load(filters, signal),
    () => true,
  );
  useRowKeys(list);
  return (
    <Page title="Requests" lead="Newest first. The address holds the filters: send it, or keep it.">
      <FilterForm label="Requests" home={home} fields={fields} filters={filters} />
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
            <Pager
              offset={filters.offset}
              size={pageSize}
              total={total}
              href={(offset) => addressOf(home, { ...filters, offset })}
            />
          </>
        )}
      </Show>
    </Page>
  );
}

function load({ set, offset }: Filters, signal: AbortSignal) {
  const query = { ...set, limit: pageSize, offset };
  return answer<Schema['RequestList']>(api.GET('/api/requests', { params: { query: query as never }, signal }));
}
