import { timelineOf } from '../../format/timeline.js';
import { Section } from '../../parts/section.js';
import { Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';
import { may } from '../../state/session.js';
import type { Shown } from './shown.js';

export function Timeline({ request, executions }: Shown) {
  const moments = timelineOf(request, executions);
  return (
    <Section title="What happened">
      <ol class="timeline">
        {moments.map(({ at, who, what, note, tone }) => (
          <li key={`${at} ${who} ${what}`} class={tone}>
            <strong>
              <Text of={who} />
            </strong>{' '}
            {what}{' '}
            <span class="quiet">
              · <When at={at} />
            </span>
            {note !== null && (
              <p class="quiet">
                <Text of={note} />
              </p>
            )}
          </li>
        ))}
      </ol>
      {may('audit.read') && (
        <p>
          <a href={`/console/audit?request_id=${request.id}`}>Its events in the audit log</a>
        </p>
      )}
    </Section>
  );
}
