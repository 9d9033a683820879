import { GatewayError } from '../../domain/errors.js';
import { checkStatusDetail, readBundle, readRepair } from '../../domain/migration/detail.js';
import type { Operation } from '../../domain/policies.js';
import type { Dialect } from '../../domain/statement.js';
import type { SqlClassifier } from '../../sql/classify.js';
import type { ReservedNames } from '../../sql/reserved-table.js';
import type { Direction, MigrationTask } from './task.js';

export type ReadTask = { ok: true; task: MigrationTask } | { ok: false; why: string };

interface Classifying {
  classifier: SqlClassifier;
  names: ReservedNames;
}

/** The task of a migrate operation; the server's own rules classify the exact bytes of its detail (AP-21, AP-22, MI-15 to MI-17). */
export async function readMigrationTask(
  operation: MigrateOperation,
  detail: string,
  dialect: Dialect,
  classifying: Classifying,
): Promise<ReadTask> {
  try {
    switch (operation) {
      case 'migrate_status':
        checkStatusDetail(detail);
        return { ok: true, task: { kind: 'status' } };
      case 'migrate_repair':
        return { ok: true, task: { kind: 'repair', repair: readRepair(detail) } };
      case 'migrate_up':
        return await readMigrations(detail, 'up', dialect, classifying);
      case 'migrate_down':
        return await readMigrations(detail, 'down', dialect, classifying);
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { ok: false, why: error.hint === null ? error.message : `${error.message} (${error.hint})` };
  }
}

export type MigrateOperation = Extract<Operation, `migrate_${string}`>;

async function readMigrations(
  detail: string,
  direction: Direction,
  dialect: Dialect,
  { classifier, names }: Classifying,
): Promise<ReadTask> {
  const { migrations, maxCount } = readBundle(detail, direction);
  const verdict = await classifier.classifyMigrations(migrations, dialect, '', names);
  if (!verdict.ok) return { ok: false, why: `${verdict.reason} (migrations[${verdict.at}].${verdict.key})` };
  const cut = migrations.map(({ version, transactional }, index) => {
    return { version, transactional, statements: verdict.migrations[index] ?? [] };
  });
  return { ok: true, task: { kind: 'run', bundle: { direction, migrations: cut, maxCount } } };
}
