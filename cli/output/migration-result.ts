import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Style } from './style.js';
import { renderTable } from './table.js';

export interface MigrationStep {
  version: string;
  outcome: 'applied' | 'applied out of order' | 'reverted' | 'failed';
}

/** The data of a migration's envelope (MI-40). */
export type MigrationView =
  | {
      kind: 'run';
      direction: 'up' | 'down';
      steps: MigrationStep[] /** How many were done; more than `steps` when the list was too long. */;
      done: number;
    }
  | { kind: 'status'; applied: string[] }
  | { kind: 'repair'; action: string; version: string; changed: boolean };

/** Reads `result_data` for display; null for other operations. */
export function viewMigration(data: JsonText | null | undefined): MigrationView | null {
  if (data?.kind !== 'object' || data.get('rows') !== undefined) return null;
  const applied = textsOf(data.get('applied_versions'));
  if (applied !== null) return { kind: 'status', applied };
  const action = data.get('repaired')?.string();
  if (action != null)
    return {
      kind: 'repair',
      action,
      version: data.get('version')?.string() ?? '',
      changed: data.get('changed')?.text !== 'false',
    };
  for (const [direction, word] of [
    ['up', 'applied'],
    ['down', 'reverted'],
  ] as const)
    for (const key of [word, `${word}_before_failure`]) {
      const view = viewRun(data, direction, word, key);
      if (view) return view;
    }
  return null;
}

function viewRun(data: JsonText, direction: 'up' | 'down', word: 'applied' | 'reverted', key: string): MigrationView | null {
  const versions = textsOf(data.get(key));
  const count = data.get(`${key}_count`);
  if (versions === null && count?.kind !== 'number') return null;
  const late = new Set(textsOf(data.get('out_of_order')) ?? []);
  const failed = data.get('failed_version')?.string();
  const steps: MigrationStep[] = (versions ?? []).map((version) => ({
    version,
    outcome: late.has(version) ? 'applied out of order' : word,
  }));
  if (failed != null) steps.push({ version: failed, outcome: 'failed' });
  return { kind: 'run', direction, steps, done: versions?.length ?? Number(count?.text) };
}

/** The result as text that ends with a newline; `names` are those of the local files, where known. */
export function renderMigration(view: MigrationView, names: ReadonlyMap<string, string>, style: Style): string {
  switch (view.kind) {
    case 'status':
      return view.applied.length === 0
        ? 'No migration is applied.\n'
        : view.applied.map((version) => `${visible(version)}\n`).join('');
    case 'repair':
      return `${repairText(view)}\n`;
    case 'run':
      return runText(view, names, style);
  }
}

function runText(view: MigrationView & { kind: 'run' }, names: ReadonlyMap<string, string>, style: Style): string {
  const done = view.direction === 'up' ? 'applied' : 'reverted';
  const total = `(${view.done} ${done})\n`;
  if (view.steps.length === 0) return view.done > 0 ? total : `Nothing to do: ${nothing[view.direction]}.\n`;
  const named = view.steps.some(({ version }) => names.has(version));
  const rows = view.steps.map(({ version, outcome }) => [
    visible(version),
    ...(named ? [visible(names.get(version) ?? '')] : []),
    view.direction,
    outcome,
  ]);
  const header = ['VERSION', ...(named ? ['NAME'] : []), 'DIRECTION', 'OUTCOME'];
  const paintCell = (padded: string, row: number, column: number) =>
    column === header.length - 1 ? style[paints[view.steps[row]!.outcome]](padded) : padded;
  return `${renderTable(header, rows, { maxCell: 255, style, paintCell })}${total}`;
}

const nothing = { up: 'every migration of the request was applied before', down: 'no migration is applied' };

const paints = { applied: 'green', 'applied out of order': 'yellow', reverted: 'green', failed: 'red' } as const;

function repairText({ action, version, changed }: MigrationView & { kind: 'repair' }): string {
  const isApplied = action === 'mark_applied';
  if (!changed)
    return `${visible(version)} was ${isApplied ? 'marked as applied already' : 'not among the applied ones'}; nothing changed.`;
  return `${visible(version)} is ${isApplied ? 'marked as applied' : 'removed from the applied ones'}; the schema was not touched.`;
}

/** The strings of an array; null when it is not one. */
function textsOf(value: JsonText | undefined): string[] | null {
  return value?.kind === 'array' ? value.items().flatMap((item) => item.string() ?? []) : null;
}
