import { answer, api, type Schema, send } from '../../http/client.js';
import { Badge } from '../../parts/badge.js';
import { Page, Show } from '../../parts/page.js';
import { Facts, Section } from '../../parts/section.js';
import { useLoaded } from '../../state/loaded.js';
import { may } from '../../state/session.js';
import { LastHour } from './last-hour.js';

type Readiness = Schema['Readiness'];

const tones = { ok: 'good', degraded: 'wait', unavailable: 'bad', draining: 'wait' } as const;

/** Whether every part is there. */
export function Health() {
  const health = useLoaded('health', loadHealth, () => true);
  return (
    <Page title="Health">
      <Show of={health}>
        {({ ready, about }) => (
          <Section title="Ready" note={<Badge tone={tones[ready.status]}>{ready.status}</Badge>}>
            <Facts
              of={[
                ...Object.entries(ready.checks ?? {}).map(
                  ([name, state]) =>
                    [
                      name.replaceAll('_', ' '),
                      <Badge key={name} tone={state === 'ok' ? 'good' : 'bad'}>
                        {state === 'ok' ? '✓ ok' : `✕ ${state.replaceAll('_', ' ')}`}
                      </Badge>,
                    ] as const,
                ),
                ['Server', about.version],
                ['Agents', about.min_agent_version === '0.0.0' ? 'of any version' : `from version ${about.min_agent_version} on`],
              ]}
            />
          </Section>
        )}
      </Show>
      {may('metrics.view') && <LastHour />}
    </Page>
  );
}

async function loadHealth(signal: AbortSignal): Promise<{ ready: Readiness; about: Schema['Health'] }> {
  const [ready, about] = await Promise.all([
    send('/ready', { signal }),
    answer<Schema['Health']>(api.GET('/health', { signal })),
  ]);
  return { ready: (await ready.json()) as Readiness, about };
}
