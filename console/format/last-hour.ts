import { showDuration } from '../../lib/duration.js';
import type { Schema } from '../http/client.js';

type Minute = Schema['Minute'];

/** A line of a chart: its name, its colour as a property of the page, and a value for each minute. */
export interface Line {
  name: string;
  colour: string;
  values: (number | null)[];
}

export interface Chart {
  title: string;
  lines: Line[];
  /** What the chart shows, for those who do not see it. */
  summary: string;
}

const outcomes = [
  ['executed', 'Ran', '--good'],
  ['failed', 'Failed', '--bad'],
  ['rejected', 'Rejected', '--wait'],
  ['cancelled', 'Cancelled', '--off'],
  ['expired', 'Expired', '--quiet'],
  ['execution_lost', 'Lost', '--sql-number'],
] as const;

/** The last hour in three pictures; outcomes that did not occur are left out. */
export function chartsOf(minutes: readonly Minute[]): Chart[] {
  const values = (read: (minute: Minute) => number | null) => minutes.map(read);
  const ended = outcomes
    .map(([key, name, colour]) => ({ name, colour, values: values((minute) => minute.outcomes[key]) }))
    .filter((line) => sum(line.values) > 0);
  const made = { name: 'Made', colour: '--accent', values: values(({ created }) => created) };
  const waits = values(({ decision_wait_secs }) => decision_wait_secs);
  const used = { name: 'Busy slots', colour: '--go', values: values(({ agent_slots_used }) => agent_slots_used) };
  const slots = { name: 'Slots', colour: '--off', values: values(({ agent_slots }) => agent_slots) };
  const backlog = { name: 'Backlog', colour: '--wait', values: values((minute) => minute.backlog) };
  const told = [made, ...ended].map((line) => `${sum(line.values)} ${line.name.toLowerCase()}`).join(', ');
  return [
    { title: 'Requests per minute', lines: [made, ...ended], summary: `In the last hour: ${told}.` },
    {
      title: 'Seconds until a decision',
      lines: [{ name: 'Median', colour: '--accent', values: waits }],
      summary:
        largest(waits) === null
          ? 'In the last hour nothing was decided.'
          : `At most ${showDuration((largest(waits) ?? 0) * 1000)} in a minute of the last hour.`,
    },
    {
      title: 'Agents and backlog',
      lines: [used, slots, backlog],
      summary: `At most ${largest(used.values) ?? 0} of ${largest(slots.values) ?? 0} slots were busy, and ${largest(backlog.values) ?? 0} waited.`,
    },
  ];
}

const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

function largest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}
