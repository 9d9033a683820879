import { isVersion } from '../../domain/migration/version.js';
import { databaseName, environmentName } from '../config/target.js';
import { requireConfirmation } from '../confirmation.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { deliver } from '../follow/deliver.js';
import { type SubmitOptions, submit } from '../follow/submit.js';
import type { Answer } from '../output/output.js';

export interface RepairOptions extends SubmitOptions {
  action?: 'mark-applied' | 'remove';
  version?: string;
}

/** `svc migrate repair`: corrects the list of applied versions; requires all four options (cli.md section 6). */
export async function repairMigrations(context: Context, _: readonly string[], options: RepairOptions): Promise<Answer> {
  const { what, output } = context;
  const { action, version, emergency, reason } = options;
  const given = { '--action': action, '--version': version, '--emergency': emergency, '--reason': reason };
  const lacking = Object.entries(given).flatMap(([name, value]) => (value === undefined ? name : []));
  if (action === undefined || version === undefined || lacking.length > 0)
    throw failure('usage', `${what}: ${lacking.join(', ')} must be given`);
  if (!isVersion(version)) throw failure('usage', `${what}: --version ${version} is not a version`);
  const layers = context.layers();
  const database = databaseName(layers, context.options);
  const environment = environmentName(layers, context.options);
  context.client();
  const target = output.noteStyle.bold(`${database}/${environment}`);
  const question = action === 'remove' ? `Remove ${version} from the applied migrations of` : `Mark ${version} as applied on`;
  output.note('Only an agent whose agent.toml lists migrate_repair under operations runs it.');
  await requireConfirmation(context, `${question} ${target}? No SQL of a migration runs.`);
  const detail = JSON.stringify({ action: action === 'remove' ? 'remove' : 'mark_applied', version });
  const followed = submit(context, { database, environment, operation: 'migrate_repair', detail }, options);
  return deliver(context, followed, {}, ({ id }) => output.noteStyle.dim(`request ${id} executed`));
}
