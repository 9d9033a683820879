import { joinStatus, type MigrationState } from '../../domain/migration/status.js';
import { readJson } from '../../lib/json/read.js';
import { objectText } from '../../lib/json/write.js';
import { visible } from '../../lib/visible.js';
import { databaseName, environmentName, migrationsDirectory } from '../config/target.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { type SubmitOptions, submit } from '../follow/submit.js';
import { readMigrations } from '../migrations/directory.js';
import { viewMigration } from '../output/migration-result.js';
import type { Answer } from '../output/output.js';
import { renderTable } from '../output/table.js';

interface Line {
  version: string;
  name: string | null;
  status: MigrationState;
}

/** `svc migrate status`: the versions applied according to the agent, joined with the local files (MI-51). */
export async function migrateStatus(context: Context, _: readonly string[], options: SubmitOptions): Promise<Answer> {
  const { terminal, what, output } = context;
  const layers = context.layers();
  const database = databaseName(layers, context.options);
  const environment = environmentName(layers, context.options);
  const { migrations } = readMigrations(
    what,
    migrationsDirectory(layers, context.options, terminal.directory),
    terminal.directory,
  );
  context.client();
  const content = { database, environment, operation: 'migrate_status', detail: '' };
  const { envelope, id } = await submit(context, content, options);
  const view = envelope === null ? null : viewMigration(readJson(envelope).get('result_data'));
  if (view?.kind !== 'status')
    throw failure('server_error', `${what}: the answer of request ${id} lists no versions`, {
      hint: envelope === null ? 'its result was not stored' : null,
    });
  const names = new Map(migrations.map(({ version, name }) => [version, name]));
  const lines = joinStatus([...names.keys()], view.applied).map(({ version, state }) => ({
    version,
    name: names.get(version) ?? null,
    status: state,
  }));
  return {
    data: objectText({ migrations: lines }, { result: envelope ?? 'null' }),
    requestId: id,
    human: () => statusTable(context, lines),
    note: output.noteStyle.dim(`${summary(lines)} on ${database}/${environment}`),
  };
}

function statusTable({ output: { style } }: Context, lines: readonly Line[]): string {
  if (lines.length === 0) return '';
  const rows = lines.map(({ version, name, status }) => [visible(version), visible(name ?? ''), status]);
  return renderTable(['VERSION', 'NAME', 'STATUS'], rows, {
    maxCell: 255,
    style,
    paintCell: (padded, row, column) => (column === 2 ? style[paints[lines[row]!.status]](padded) : padded),
  });
}

/** `2 applied, 1 pending`; omits parts that are 0. */
function summary(lines: readonly Line[]): string {
  const counts = (Object.keys(paints) as MigrationState[]).flatMap((state) => {
    const number = lines.filter(({ status }) => status === state).length;
    return number === 0 ? [] : `${number} ${state}`;
  });
  return counts.join(', ') || 'no migration';
}

const paints = {
  applied: 'green',
  pending: 'yellow',
  'out of order': 'magenta',
  'missing file': 'red',
} as const satisfies Record<MigrationState, string>;
