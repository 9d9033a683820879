import { withCommas } from '../../../lib/counts.js';
import { databaseError } from '../../../lib/database-error.js';
import { showDuration } from '../../../lib/duration.js';
import type { Schema } from '../../http/client.js';
import { Badge } from '../../parts/badge.js';
import { Section } from '../../parts/section.js';
import { Table } from '../../parts/table.js';
import { Name, Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';

type Execution = Schema['Execution'];

const tones = { claimed: 'go', running: 'go', completed: 'good', failed: 'bad' } as const;

/** The runs, newest first. */
export function Attempts({ executions }: { executions: readonly Execution[] }) {
  if (executions.length === 0) return null;
  return (
    <Section title="Attempts" note={String(executions.length)}>
      <Table
        label="Its attempts"
        head={['Fence', 'State', 'Agent', 'Began', 'Took', 'Rows', 'Outcome']}
        numbers={['Took', 'Rows']}
      >
        {executions.map((execution) => (
          <tr key={execution.id}>
            <th scope="row">{execution.fence}</th>
            <td>
              <Badge tone={tones[execution.status]}>{execution.status}</Badge>
            </td>
            <td>
              <Name of={execution.agent_id} />
            </td>
            <td>
              <When at={execution.started_at} />
            </td>
            <td class="number">{execution.duration_ms === null ? '' : showDuration(execution.duration_ms)}</td>
            <td class="number">{execution.rows_affected === null ? '' : withCommas(execution.rows_affected)}</td>
            <td class="long">{outcomeOf(execution)}</td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}

function outcomeOf({ outcome, applied_fence, error_message }: Execution) {
  if (error_message !== null) return <Text of={databaseError(error_message, null).message} />;
  if (outcome === 'already_applied') return `attempt ${applied_fence} had done it already`;
  return outcome?.replaceAll('_', ' ') ?? '';
}
