import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { withCommas } from '../../lib/counts.js';
import type { Tone } from '../format/status.js';
import { answer, api, type Schema } from '../http/client.js';
import { Badge } from '../parts/badge.js';
import { Field } from '../parts/field.js';
import { Page, Show } from '../parts/page.js';
import { Pager } from '../parts/pager.js';
import { Empty, Facts } from '../parts/section.js';
import { Name, Text } from '../parts/text.js';
import { When } from '../parts/when.js';
import { useLoaded } from '../state/loaded.js';
import { Chain } from './audit-chain.js';
import { type AuditFilters, auditQuery, auditUrl, filterNames, filtersIn } from './audit-url.js';

type Event = Schema['AuditEvent'];

const pageSize = 50;
const labels: Record<(typeof filterNames)[number], string> = {
  request_id: 'Request',
  actor_id: 'Actor',
  event_type: 'Event',
  event_category: 'Category',
  outcome: 'Outcome',
  database: 'Database',
  environment: 'Environment',
  operation: 'Operation',
  since: 'Since',
  until: 'Until',
};

/** What happened, in the order of the log, newest first. */
export function Audit() {
  const { query, route } = useLocation();
  const filters = filtersIn(query);
  const page = useLoaded(auditUrl(filters), (signal) =>
    answer<Schema['AuditEventList']>(
      api.GET('/api/audit/events', {
        params: { query: { ...auditQuery(filters), limit: pageSize, offset: filters.offset } as never },
        signal,
      }),
    ),
  );
  const exported = (format: string) => `/api/audit/export?${new URLSearchParams({ ...auditQuery(filters), format })}`;
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
      <Form key={auditUrl(filters)} filters={filters} onApply={(chosen) => route(auditUrl(chosen))} />
      <Show of={page}>
        {({ events, total, total_is_estimate }) => (
          <>
            <p class="quiet card-note" role="status">
              {total_is_estimate ? 'about ' : ''}
              {withCommas(total)} {total === 1 ? 'event' : 'events'}
            </p>
            {events.length === 0 ? (
              <Empty>No event that you may see matches.</Empty>
            ) : (
              <div class="card events">
                {events.map((event) => (
                  <Entry key={event.id} event={event} />
                ))}
              </div>
            )}
            <Pager offset={filters.offset} size={pageSize} total={total} href={(offset) => auditUrl({ ...filters, offset })} />
          </>
        )}
      </Show>
    </Page>
  );
}

function Form({ filters, onApply }: { filters: AuditFilters; onApply: (filters: AuditFilters) => void }) {
  const [draft, setDraft] = useState(filters);
  return (
    <search aria-label="Events">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          onApply({ ...draft, offset: 0 });
        }}
      >
        {filterNames.map((name) => (
          <Field key={name} label={labels[name]}>
            {(id) => (
              <input
                id={id}
                value={draft[name]}
                placeholder={name === 'since' || name === 'until' ? '2026-05-01T09:00:00Z' : ''}
                onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
              />
            )}
          </Field>
        ))}
        <div class="actions">
          <button type="submit">Filter</button>
          <a class="button" href="/console/audit">
            Clear
          </a>
        </div>
      </form>
    </search>
  );
}

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
