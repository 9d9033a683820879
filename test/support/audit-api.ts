import { openDatabase } from '../../db/open-database.js';
import { sealBatch } from '../../worker/seal-batch.js';
import type { TestApi } from './api.js';
import { testMacs } from './postgres.js';

/** Seals what a test's server has written, as a worker does. */
export async function sealAll({ services }: Pick<TestApi, 'services'>, isAnchored = false): Promise<void> {
  const log = { origin: services.config().audit.origin, isAnchored };
  for (;;) {
    const outcome = await services.database.transaction((tx) => sealBatch(tx, services.auditKeys, log));
    if (outcome.kind !== 'done') throw new Error(`sealing: ${JSON.stringify(outcome)}`);
    if (outcome.sealed === 0) return;
  }
}

/** Runs statements as a superuser would who has switched the triggers off. */
export async function tamper({ database }: Pick<TestApi, 'database'>, ...statements: string[]): Promise<void> {
  const admin = openDatabase({
    url: database.adminUrl,
    poolMax: 1,
    connectTimeoutMs: 3000,
    statementTimeoutMs: 10_000,
    applicationName: 'tamper',
    macs: testMacs,
  });
  try {
    await admin.transaction(async (tx) => {
      await tx.query(`set local session_replication_role = 'replica'`);
      for (const each of statements) await tx.query(each);
    });
  } finally {
    await admin.close();
  }
}
