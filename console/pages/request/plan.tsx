import { databaseError } from '../../../lib/database-error.js';
import { subjectOf } from '../../format/request-text.js';
import type { Schema } from '../../http/client.js';
import { PlanTree } from '../../parts/plan-tree.js';
import { Empty, Section } from '../../parts/section.js';
import { Text } from '../../parts/text.js';

/** What the database would do, as far as it was asked. */
export function Plan({ request: { context, operation } }: { request: Schema['Request'] }) {
  const entries = context.explain ?? [];
  if (entries.length === 0 && !context.explain_enabled) return null;
  return (
    <Section title="Plan">
      {entries.length === 0 && (
        <Empty>
          {context.status === 'collecting' ? 'Waiting for an agent to ask the database.' : 'No agent answered in time.'}
        </Empty>
      )}
      {entries.map((entry, index) => (
        <div key={index}>
          {entries.length > 1 && (
            <p class="quiet">
              <Text of={subjectOf(operation, entry.sql)} />
            </p>
          )}
          {entry.error === undefined ? <PlanTree plan={entry.plan} /> : <Unplanned entry={entry} />}
        </div>
      ))}
    </Section>
  );
}

function Unplanned({ entry }: { entry: { sql: string; error?: string; hint?: string | null } }) {
  const { message, hint } = databaseError(entry.error ?? '', entry.sql);
  return (
    <p>
      <Text of={message} />
      {(hint ?? entry.hint) && (
        <span class="quiet">
          {' '}
          <Text of={hint ?? entry.hint} />
        </span>
      )}
    </p>
  );
}
