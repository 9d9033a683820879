import { useLocation } from 'preact-iso/router';
import { answer, api, type Schema } from '../http/client.js';
import { Page, Show } from '../parts/page.js';
import { Problem } from '../parts/problem.js';
import { Empty, Section } from '../parts/section.js';
import { Table } from '../parts/table.js';
import { Name, Text } from '../parts/text.js';
import { useLoaded } from '../state/loaded.js';
import { useSending } from '../state/sending.js';
import { may } from '../state/session.js';
import { Deliveries, pageSize } from './webhooks-deliveries.js';

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
  const { error, told, send } = useSending(onTested);
  return (
    <Section title="Receivers" note={String(webhooks.length)}>
      {webhooks.length === 0 ? (
        <Empty>
          No webhook is configured. An entry <code>[[webhooks]]</code> in server.toml makes one.
        </Empty>
      ) : (
        <Table label="Receivers" head={['Id', 'Address', 'Form', 'Events', '']}>
          {webhooks.map((webhook) => (
            <Receiver key={webhook.id} webhook={webhook} onTest={(press) => send(() => test(webhook.id), press)} />
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

async function test(id: string): Promise<string> {
  await answer(api.POST('/api/webhooks/{id}/test', { params: { path: { id } } }));
  return 'A test is on its way; it is the newest delivery below.';
}

interface ReceiverProps {
  webhook: Schema['Webhook'];
  onTest: (press: MouseEvent) => void;
}

function Receiver({ webhook: { id, url, format, events }, onTest }: ReceiverProps) {
  return (
    <tr>
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
          <button type="button" class="small" onClick={onTest} aria-label={`Send a test to ${id}`}>
            Send a test
          </button>
        )}
      </td>
    </tr>
  );
}
