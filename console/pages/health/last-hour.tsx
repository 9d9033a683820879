import type { ComponentType } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { chartsOf } from '../../format/last-hour.js';
import { answer, api, type Schema } from '../../http/client.js';
import { Badge } from '../../parts/badge.js';
import { Show } from '../../parts/page.js';
import { Facts, Section } from '../../parts/section.js';
import { When } from '../../parts/when.js';
import { scheme } from '../../state/appearance.js';
import { useLoaded } from '../../state/loaded.js';
import type ChartPart from './chart.js';

const everyMs = 30_000;

type Chart = typeof ChartPart;

export function LastHour() {
  const hour = useLoaded(
    'last hour',
    (signal) => answer<Schema['OperationsSummary']>(api.GET('/api/operations/summary', { signal })),
    // The stream of changes begins anew, as after a drain.
    (change) => change === null,
  );
  const [Chart, setChart] = useState<Chart | null>(null);
  useEffect(() => {
    import('./chart.js').then(
      (module) => setChart(() => module.default),
      () => undefined,
    );
    const timer = setInterval(hour.reload, everyMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <Show of={hour}>
      {({ minutes, server }) => (
        <>
          <Server state={server} />
          <Charts minutes={minutes} Chart={Chart} />
        </>
      )}
    </Show>
  );
}

/** Of several servers, the one that this browser reached. */
function Server({ state: { draining, generation, generation_since } }: { state: Schema['ServerState'] }) {
  return (
    <Section
      title="This server"
      note={<Badge tone={draining ? 'wait' : 'good'}>{draining ? 'draining' : 'takes requests'}</Badge>}
    >
      <Facts
        of={[
          [
            'Configuration',
            <span key="configuration">
              generation {generation}, since <When at={generation_since} />
            </span>,
          ],
        ]}
      />
    </Section>
  );
}

function Charts({ minutes, Chart }: { minutes: readonly Schema['Minute'][]; Chart: ComponentType<Parameters<Chart>[0]> | null }) {
  const charts = useMemo(() => chartsOf(minutes), [minutes]);
  const times = useMemo(() => minutes.map(({ at }) => Date.parse(at) / 1000), [minutes]);
  return (
    <div class="charts">
      {charts.map((chart) => (
        <Section key={chart.title} title={chart.title}>
          {Chart !== null && <Chart chart={chart} times={times} scheme={scheme.value} />}
          <p class="quiet">{chart.summary}</p>
          <ul class="legend" aria-hidden="true">
            {chart.lines.map(({ name, colour }) => (
              <li key={name}>
                <span class="swatch" style={{ background: `var(${colour})` }} />
                {name}
              </li>
            ))}
          </ul>
        </Section>
      ))}
    </div>
  );
}
