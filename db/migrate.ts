import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';

/** Schema version this code was written for: the name of the newest file in `db/migrations`. */
export const schemaVersion = '10_relay_bytes';

/** Brings the gateway's database at `url` to `schemaVersion`; processes starting together wait for one another (OP-50). */
export async function migrate(url: string): Promise<void> {
  await runner({
    databaseUrl: url,
    dir: fileURLToPath(new URL('./migrations/', import.meta.url)),
    migrationsTable: 'schema_migrations',
    direction: 'up',
    advisoryLockMode: 'wait',
    log: () => {},
  });
}
