import type { Schema } from '../../http/client.js';
import { Badge } from '../../parts/badge.js';
import { Section } from '../../parts/section.js';
import { Name, Text } from '../../parts/text.js';

/** What the review found. Nothing is shown where there is nothing. */
export function Findings({ request: { context } }: { request: Schema['Request'] }) {
  const findings = context.sql_review?.findings ?? [];
  if (findings.length === 0) return null;
  const several = new Set(findings.map(({ statement_index }) => statement_index)).size > 1;
  return (
    <Section title="Findings" note={String(findings.length)}>
      <ul class="plain-list">
        {findings.map(({ rule, level, message, statement_index, version }) => (
          <li key={`${version} ${statement_index} ${rule}`} class="finding">
            <Badge tone={level === 'Block' ? 'bad' : 'wait'}>{level === 'Block' ? 'blocks' : 'warns'}</Badge>
            <span>
              <Text of={message} />{' '}
              <span class="quiet">
                <Name of={rule} />
                {version !== undefined && (
                  <>
                    {' '}
                    in <Name of={version} />
                  </>
                )}
                {several && ` statement ${statement_index + 1}`}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
