import { useRef } from 'preact/hooks';
import { requestFields } from '../format/filter-fields.js';
import { useRowKeys } from '../frame/row-keys.js';
import { answer, api, type Schema } from '../http/client.js';
import { FilteredList, type Query } from '../parts/filtered-list.js';
import { Page } from '../parts/page.js';
import { RequestRow } from '../parts/request-row.js';
import { Empty } from '../parts/section.js';
import { usePairNames } from '../state/pair-names.js';

/** The list with the filters of the API, which stand in the address. */
export function Requests() {
  const list = useRef<HTMLUListElement>(null);
  const fields = requestFields(usePairNames());
  useRowKeys(list);
  return (
    <Page title="Requests" lead="Newest first. The address holds the filters: send it, or keep it.">
      <FilteredList label="Requests" home="/console/requests" fields={fields} load={load} concerns={() => true} one="request">
        {({ requests }) =>
          requests.length === 0 ? (
            <Empty>No request that you may see matches.</Empty>
          ) : (
            <ul class="rows card" ref={list}>
              {requests.map((request) => (
                <RequestRow key={request.id} request={request} />
              ))}
            </ul>
          )
        }
      </FilteredList>
    </Page>
  );
}

const load = (query: Query, signal: AbortSignal) =>
  answer<Schema['RequestList']>(api.GET('/api/requests', { params: { query: query as never }, signal }));
