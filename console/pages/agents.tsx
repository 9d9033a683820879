import { shortDuration } from '../../lib/duration.js';
import type { Tone } from '../format/status.js';
import { answer, api, type Schema } from '../http/client.js';
import { Badge } from '../parts/badge.js';
import { Page, Show } from '../parts/page.js';
import { Empty } from '../parts/section.js';
import { Table } from '../parts/table.js';
import { Name, Text } from '../parts/text.js';
import { When } from '../parts/when.js';
import { useLoaded } from '../state/loaded.js';

type Agent = Schema['Agent'];

const tones = { healthy: 'good', saturated: 'wait', draining: 'wait', offline: 'bad' } as const satisfies Record<
  Agent['status'],
  Tone
>;

export function Agents() {
  const agents = useLoaded(
    'agents',
    (signal) => answer(api.GET('/api/agents', { signal })),
    () => true,
  );
  return (
    <Page title="Agents" lead="They alone hold the credentials of the databases, and ask the gateway for work.">
      <Show of={agents}>
        {({ agents: found }) => (found.length === 0 ? <Empty>No agent has called yet.</Empty> : <List agents={found} />)}
      </Show>
    </Page>
  );
}

function List({ agents }: { agents: readonly Agent[] }) {
  return (
    <div class="card">
      <Table label="Agents" head={['Agent', 'State', 'Slots', 'Runs now', 'Serves', 'Version', 'Up', 'Last seen']}>
        {agents.map((agent) => (
          <Row key={agent.id} agent={agent} />
        ))}
      </Table>
    </div>
  );
}

function Row({ agent }: { agent: Agent }) {
  return (
    <tr>
      <th scope="row">
        <Name of={agent.id} />
        {agent.duplicate_instances && (
          <p>
            <Badge tone="bad">two run with one token</Badge>
          </p>
        )}
      </th>
      <td>
        <Badge tone={tones[agent.status]}>{agent.status}</Badge>
      </td>
      <td>
        <Slots used={agent.in_flight} of={agent.max_concurrent} />
      </td>
      <td>
        <Jobs of={agent.active_jobs} />
      </td>
      <td>
        {agent.unscoped && <Badge tone="wait">everything</Badge>}
        {agent.capabilities.scopes.map(({ database, environment }) => (
          <p key={`${database}/${environment}`}>
            <Text of={`${database}/${environment}`} />
          </p>
        ))}
      </td>
      <td>
        <Text of={agent.version ?? 'not told'} />
      </td>
      <td>{agent.status === 'offline' ? '' : shortDuration(agent.uptime_secs * 1000)}</td>
      <td>
        <When at={agent.last_seen_at} />
      </td>
    </tr>
  );
}

/** What it runs now. */
function Jobs({ of }: { of: Agent['active_jobs'] }) {
  return (
    <>
      {of.map(({ request_id, operation, elapsed_secs }) => (
        <p key={request_id}>
          <a href={`/console/requests/${request_id}`}>{operation}</a>
          {elapsed_secs !== undefined && ` for ${shortDuration(elapsed_secs * 1000)}`}
        </p>
      ))}
    </>
  );
}

function Slots({ used, of }: { used: number; of: number }) {
  return (
    <span class="slots">
      <meter min={0} max={Math.max(1, of)} value={used} aria-label="busy slots" /> {used} of {of}
    </span>
  );
}
