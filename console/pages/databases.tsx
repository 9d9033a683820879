import { useLocation } from 'preact-iso/router';
import { answer, api, type Schema } from '../http/client.js';
import { Pair } from '../parts/badge.js';
import { Page, Show } from '../parts/page.js';
import { Empty } from '../parts/section.js';
import { Table } from '../parts/table.js';
import { Text } from '../parts/text.js';
import { When } from '../parts/when.js';
import { useLoaded } from '../state/loaded.js';
import { may } from '../state/session.js';
import { Policies } from './databases-policies.js';
import { SchemaBrowser } from './databases-schema.js';

type Database = Schema['Database'];

/** The pairs, and of the chosen one its tables and its policies. */
export function Databases() {
  const { query } = useLocation();
  const { database, environment } = query;
  const pairs = useLoaded('databases', (signal) => answer(api.GET('/api/databases', { signal })));
  const agents = useAgents();
  return (
    <Page title="Databases">
      <Show of={pairs}>
        {({ databases }) =>
          databases.length === 0 ? (
            <Empty>No database is registered that you may see.</Empty>
          ) : (
            <div class="card">
              <Table label="Databases" head={['Database', 'Dialect', 'Agents', 'Schema seen']}>
                {databases.map((pair) => (
                  <Row
                    key={`${pair.database}/${pair.environment}`}
                    pair={pair}
                    agents={agents}
                    isChosen={pair.database === database && pair.environment === environment}
                  />
                ))}
              </Table>
            </div>
          )
        }
      </Show>
      {database !== undefined && environment !== undefined && (
        <div key={`${database}/${environment}`}>
          <Policies database={database} environment={environment} />
          <SchemaBrowser database={database} environment={environment} />
        </div>
      )}
      {database === undefined && <p class="quiet">Choose one to see its tables, who may do what, and who approves.</p>}
    </Page>
  );
}

/** Null for who may not see them. */
function useAgents(): Schema['Agent'][] | null {
  const { value } = useLoaded(
    'agents of databases',
    async (signal) => (may('metrics.view') ? answer(api.GET('/api/agents', { signal })) : null),
    () => true,
  );
  return value?.agents ?? null;
}

interface RowProps {
  pair: Database;
  agents: readonly Schema['Agent'][] | null;
  isChosen: boolean;
}

function Row({ pair: { database, environment, dialect }, agents, isChosen }: RowProps) {
  const query = new URLSearchParams({ database, environment });
  const params = { path: { database }, query: { environment, summary: true } };
  const snapshot = useLoaded(`seen ${query}`, (signal) =>
    answer<Schema['DatabaseSchema']>(api.GET('/api/schemas/{database}', { params, signal })).catch(() => null),
  );
  const serving = agents?.filter((agent) =>
    agent.capabilities.scopes.some((scope) => scope.database === database && scope.environment === environment),
  );
  return (
    <tr>
      <th scope="row">
        <a href={`/console/databases?${query}`} aria-current={isChosen ? 'true' : undefined}>
          <Pair database={database} environment={environment} />
        </a>
      </th>
      <td>{dialect ?? <span class="quiet">not told</span>}</td>
      <td>
        {serving === undefined ? (
          <span class="quiet">not for you</span>
        ) : serving.length === 0 ? (
          <span class="quiet">none</span>
        ) : (
          <Text of={serving.map(({ id, status }) => `${id}: ${status}`).join(', ')} />
        )}
      </td>
      <td>{snapshot.isLoading ? '…' : <When at={snapshot.value?.collected_at} />}</td>
    </tr>
  );
}
