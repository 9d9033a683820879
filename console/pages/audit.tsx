import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { auditFields } from '../format/filter-fields.js';
import { filtersIn } from '../format/filters.js';
import type { Tone } from '../format/status.js';
import { answer, api, type Schema } from '../http/client.js';
import { Badge } from '../parts/badge.js';
import { FilteredList, type Query } from '../parts/filtered-list.js';
import { Page } from '../parts/page.js';
import { Empty, Facts } from '../parts/section.js';
import { Name, Text } from '../parts/text.js';
import { When } from '../parts/when.js';
import { usePairNames } from '../state/pair-names.js';
import { Chain } from './audit-chain.js';

type Event = Schema['AuditEvent'];

/** What happened, in the order of the log, newest first. */
export function Audit() {
  const fields = auditFields(usePairNames());
  const { set } = filtersIn(fields, useLocation().query);
  const exported = (format: string) => `/api/audit/export?${new URLSearchParams({ ...set, format })}`;
  return (
    <Page
      title="Audit"
      lead="Every event that the filters leave, newest first. The address holds the filters."
      actions={
        <>
          <a class="button" href={exported('ndjson')} download="audit.ndjson">
            Export NDJSON
          </a>
          <a class="button" href={exported('csv')} download="audit.csv">
            Export CSV
          </a>
        </>
      }
    >
      <Chain />
      <FilteredList label="Events" home="/console/audit" fields={fields} load={load} one="event">
        {({ events }) =>
          events.length === 0 ? (
            <Empty>No event that you may see matches.</Empty>
          ) : (
            <div class="card events">
              {events.map((event) => (
                <Entry key={event.id} event={event} />
              ))}
            </div>
          )
        }
      </FilteredList>
    </Page>
  );
}

const load = (query: Query, signal: AbortSignal) =>
  answer<Schema['AuditEventList']>(api.GET('/api/audit/events', { params: { query: query as never }, signal }));

const tones = { success: 'good', denied: 'wait', failure: 'bad', info: 'off' } as const satisfies Record<Event['outcome'], Tone>;

/** One line; all of it when it is opened. */
function Entry({ event }: { event: Event }) {
  const { event_type, outcome, actor_id, actor_type, created_at, database_name, environment, request_id, reason } = event;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={(toggled) => setIsOpen(toggled.currentTarget.open)}>
      <summary>
        <Badge tone={tones[outcome]}>{outcome}</Badge>
        <span class="event-type">{event_type}</span>
        <span>
          <Text of={actor_id} /> {actor_type !== 'user' && <span class="quiet">({actor_type})</span>}
        </span>
        <span class="quiet">
          <Text of={[database_name, environment].filter(Boolean).join('/')} />
        </span>
        <span class="spring quiet ellipsis">
          <Text of={reason} />
        </span>
        <When at={created_at} />
      </summary>
      {isOpen && (
        <>
          {request_id !== null && (
            <p>
              <a href={`/console/requests/${request_id}`}>Its request</a>
            </p>
          )}
          <Facts
            of={Object.entries(event).map(
              ([name, value]) => [name, value === null ? '' : <Name key={name} of={String(value)} />] as const,
            )}
          />
        </>
      )}
    </details>
  );
}
