import { counted } from '../format/counts.js';
import { operationText } from '../format/request-text.js';
import { answer, api, type Schema } from '../http/client.js';
import { Show } from '../parts/page.js';
import { Facts, Section } from '../parts/section.js';
import { Table } from '../parts/table.js';
import { Name, Text } from '../parts/text.js';
import { useLoaded } from '../state/loaded.js';

type Resolved = Schema['ResolvedOperation'];

const previews = {
  deny: 'nobody may',
  auto_approved: 'approved automatically',
  may_auto_approve: 'approved automatically if its risk is low enough',
  needs_approval: 'needs approval',
  break_glass_only: 'only as an emergency',
} as const satisfies Record<Resolved['decision_preview'], string>;

const rowsText = (most: number | null) => (most === null ? 'any number of rows' : counted(most, 'row'));

/** Which policies apply to the pair, and who approves what. */
export function Policies({ database, environment }: { database: string; environment: string }) {
  const query = { database, environment };
  const policies = useLoaded(`policies ${database}/${environment}`, (signal) =>
    answer<Schema['PolicyResolution']>(api.GET('/api/policy-resolution', { params: { query }, signal })),
  );
  return (
    <Section title={`Who decides on ${database}/${environment}`}>
      <Show of={policies}>
        {({ resolutions = [], execution_policy, sql_review_policy, result_policy }) => (
          <>
            <Table label="Operations" head={['Operation', 'Comes to', 'Approvers', 'Workflow policy']}>
              {resolutions.map((resolved) => (
                <Operation key={resolved.operation} resolved={resolved} {...query} />
              ))}
            </Table>
            <Facts
              of={[
                [
                  'Statements',
                  execution_policy !== undefined &&
                    `at most ${execution_policy.statement_timeout_secs} s each, ${rowsText(execution_policy.max_rows)}, ${counted(execution_policy.max_executions, 'attempt')}`,
                ],
                ['Review', sql_review_policy !== undefined && <Name of={sql_review_policy.id} />],
                ['Results', result_policy !== undefined && `kept ${result_policy.retention_days} days`],
              ]}
            />
          </>
        )}
      </Show>
    </Section>
  );
}

function Operation({ resolved, database, environment }: { resolved: Resolved; database: string; environment: string }) {
  const { operation, decision_preview, workflow_id } = resolved;
  const query = { database, environment, operation };
  const { value } = useLoaded(`policy ${database}/${environment} ${operation}`, (signal) =>
    answer<Schema['PolicyResolution']>(api.GET('/api/policy-resolution', { params: { query }, signal })),
  );
  const steps = value?.workflow?.steps ?? [];
  return (
    <tr>
      <th scope="row">{operationText(operation)}</th>
      <td>{previews[decision_preview]}</td>
      <td class="long">
        {steps.map(({ mode, requirements }, index) => (
          <p key={index}>
            step {index + 1}
            {requirements.length > 1 && ` (${mode} of)`}:{' '}
            <Text of={requirements.map(({ selector, min }) => `${selector}, ${min} needed`).join('; ')} />
          </p>
        ))}
      </td>
      <td>{workflow_id !== null && <Name of={workflow_id} />}</td>
    </tr>
  );
}
