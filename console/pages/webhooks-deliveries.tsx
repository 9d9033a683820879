import type { Tone } from '../format/status.js';
import { answer, api, type Schema } from '../http/client.js';
import { Badge } from '../parts/badge.js';
import { Show } from '../parts/page.js';
import { Pager } from '../parts/pager.js';
import { Problem } from '../parts/problem.js';
import { Empty, Section } from '../parts/section.js';
import { Table } from '../parts/table.js';
import { Name, Text } from '../parts/text.js';
import { When } from '../parts/when.js';
import type { Loaded } from '../state/loaded.js';
import { useSending } from '../state/sending.js';

type Delivery = Schema['Delivery'];

export const pageSize = 50;

const tones = { pending: 'wait', in_progress: 'go', delivered: 'good', dead: 'bad', cancelled: 'off' } as const satisfies Record<
  Delivery['status'],
  Tone
>;

/** What was sent to the receivers, newest first. */
export function Deliveries({ of, offset }: { of: Loaded<Schema['DeliveryList'] | null>; offset: number }) {
  const { error, told, send } = useSending(of.reload);
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
                  <Row key={delivery.id} delivery={delivery} onAgain={(press) => send(() => again(delivery.id), press)} />
                ))}
              </Table>
              <Pager offset={offset} size={pageSize} total={page.total} href={(next) => `/console/webhooks?offset=${next}`} />
            </>
          )
        }
      </Show>
      <Problem error={error} />
      <p role="status" class="quiet">
        {told}
      </p>
    </Section>
  );
}

async function again(id: string): Promise<string> {
  await answer(api.POST('/api/webhook-deliveries/{id}/redeliver', { params: { path: { id } } }));
  return 'It is on its way again, as a new delivery.';
}

function Row({ delivery, onAgain }: { delivery: Delivery; onAgain: (press: MouseEvent) => void }) {
  const { request_id, event_type, webhook_id, status, attempts, max_attempts, created_at, next_retry_at, last_error } = delivery;
  return (
    <tr>
      <th scope="row">{request_id === null ? event_type : <a href={`/console/requests/${request_id}`}>{event_type}</a>}</th>
      <td>
        <Name of={webhook_id} />
      </td>
      <td>
        <Badge tone={tones[status]}>{status.replaceAll('_', ' ')}</Badge>
      </td>
      <td>
        {attempts} of {max_attempts}
      </td>
      <td>
        <When at={created_at} />
      </td>
      <td>{next_retry_at === null ? '' : <When at={next_retry_at} />}</td>
      <td class={last_error === null ? '' : 'long'}>
        <Text of={last_error} />
      </td>
      <td>
        {status === 'dead' && (
          <button type="button" class="small" onClick={onAgain}>
            Send again
          </button>
        )}
      </td>
    </tr>
  );
}
