import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import type { Tone } from '../format/status.js';
import { answer, api, type Schema } from '../http/client.js';
import { Badge } from '../parts/badge.js';
import { Page, Show } from '../parts/page.js';
import { Pager } from '../parts/pager.js';
import { Problem } from '../parts/problem.js';
import { Empty, Section } from '../parts/section.js';
import { Table } from '../parts/table.js';
import { Name, Text } from '../parts/text.js';
import { When } from '../parts/when.js';
import { type Loaded, useLoaded } from '../state/loaded.js';
import { may } from '../state/session.js';

const pageSize = 50;

/** The receivers of the configuration, and what was sent to them. */
export function Webhooks() {
  const { query } = useLocation();
  const offset = Math.max(0, Number(query.offset) || 0);
  const webhooks = useLoaded('webhooks', (signal) => answer(api.GET('/api/webhooks', { signal })));
  const deliveries = useLoaded(
    `deliveries ${offset}`,
    async (signal) =>
      may('metrics.view')
        ? answer(api.GET('/api/webhook-deliveries', { params: { query: { limit: pageSize, offset } }, signal }))
        : null,
    () => true,
  );
  return (
    <Page title="Webhooks" lead="Receivers stand in server.toml.">
      <Show of={webhooks}>{({ webhooks: found }) => <Receivers webhooks={found} onTested={deliveries.reload} />}</Show>
      {may('metrics.view') && <Deliveries of={deliveries} offset={offset} />}
    </Page>
  );
}

function Receivers({ webhooks, onTested }: { webhooks: readonly Schema['Webhook'][]; onTested: () => void }) {
  const [error, setError] = useState<Error | null>(null);
  const [told, setTold] = useState('');
  const test = async (id: string) => {
    setError(null);
    try {
      await answer(api.POST('/api/webhooks/{id}/test', { params: { path: { id } } }));
      setTold('A test is on its way; it is the newest delivery below.');
    } catch (failure) {
      setError(failure as Error);
    }
    onTested();
  };
  return (
    <Section title="Receivers" note={String(webhooks.length)}>
      {webhooks.length === 0 && (
        <Empty>
          No webhook is configured. An entry <code>[[webhooks]]</code> in server.toml makes one.
        </Empty>
      )}
      {webhooks.length > 0 && (
        <Table label="Receivers" head={['Id', 'Address', 'Form', 'Events', '']}>
          {webhooks.map(({ id, url, format, events }) => (
            <tr key={id}>
              <th scope="row">
                <Name of={id} />
              </th>
              <td>
                <Text of={url ?? 'not shown'} />
              </td>
              <td>{format}</td>
              <td>
                <Text of={events.join(', ')} />
              </td>
              <td>
                {may('metrics.view') && (
                  <button type="button" class="small" onClick={() => void test(id)} aria-label={`Send a test to ${id}`}>
                    Send a test
                  </button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Problem error={error} />
      <p role="status" class="quiet">
        {told}
      </p>
    </Section>
  );
}

type Delivery = Schema['Delivery'];

const tones = { pending: 'wait', in_progress: 'go', delivered: 'good', dead: 'bad', cancelled: 'off' } as const satisfies Record<
  Delivery['status'],
  Tone
>;

function Deliveries({ of, offset }: { of: Loaded<Schema['DeliveryList'] | null>; offset: number }) {
  const again = async (id: string) => {
    await answer(api.POST('/api/webhook-deliveries/{id}/redeliver', { params: { path: { id } } })).catch(() => undefined);
    of.reload();
  };
  return (
    <Section title="Deliveries" note={of.value ? String(of.value.total) : undefined}>
      <Show of={of}>
        {(page) =>
          page === null || page.deliveries.length === 0 ? (
            <Empty>Nothing was sent yet.</Empty>
          ) : (
            <>
              <Table label="Deliveries" head={['Event', 'To', 'State', 'Attempts', 'Made', 'Next', 'Last error', '']}>
                {page.deliveries.map((delivery) => (
                  <tr key={delivery.id}>
                    <th scope="row">
                      {delivery.request_id === null ? (
                        delivery.event_type
                      ) : (
                        <a href={`/console/requests/${delivery.request_id}`}>{delivery.event_type}</a>
                      )}
                    </th>
                    <td>
                      <Name of={delivery.webhook_id} />
                    </td>
                    <td>
                      <Badge tone={tones[delivery.status]}>{delivery.status.replaceAll('_', ' ')}</Badge>
                    </td>
                    <td>
                      {delivery.attempts} of {delivery.max_attempts}
                    </td>
                    <td>
                      <When at={delivery.created_at} />
                    </td>
                    <td>{delivery.next_retry_at === null ? '' : <When at={delivery.next_retry_at} />}</td>
                    <td>
                      <Text of={delivery.last_error} />
                    </td>
                    <td>
                      {delivery.status === 'dead' && (
                        <button type="button" class="small" onClick={() => void again(delivery.id)}>
                          Send again
                        </button>
                      )}
                    </td>
                  </tr>
                ))}
              </Table>
              <Pager offset={offset} size={pageSize} total={page.total} href={(next) => `/console/webhooks?offset=${next}`} />
            </>
          )
        }
      </Show>
    </Section>
  );
}
