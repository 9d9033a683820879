import { formatProblem, loadConfig } from '../../config/index.js';
import type { Config } from '../../config/types.js';
import type { Database } from '../../db/client.js';
import { schemaVersion } from '../../db/migrate.js';
import { openDatabase } from '../../db/open-database.js';
import { appliedSchemaVersion } from '../../db/schema-version.js';
import { GatewayError } from '../../domain/errors.js';
import { databaseUrl, firstLine } from '../gateway-database.js';
import { StartError } from '../start-error.js';
import { outageIn } from '../start-wait.js';

/** Throws `StartError` with all errors of the file. */
export function readConfig(file: string): Config {
  const loaded = loadConfig(file, process.env);
  if (!loaded.ok) throw new StartError(...loaded.errors.map(formatProblem));
  return loaded.config;
}

/** Runs `work` with the gateway's own database, without waiting for it and without migrating it. Throws `StartError` if it cannot be used. */
export async function withDatabase<T>(config: Config, work: (database: Database) => Promise<T>): Promise<T> {
  const { connectTimeoutSecs, statementTimeoutSecs } = config.database;
  const database = openDatabase({
    url: databaseUrl(config.database),
    poolMax: 2,
    connectTimeoutMs: connectTimeoutSecs * 1000,
    statementTimeoutMs: statementTimeoutSecs * 1000,
    applicationName: 'svc command',
    onPoolError: () => {},
  });
  try {
    await database.query('select 1').catch((error: unknown) => {
      const why = ['database.url', outageIn(error)].filter(Boolean).join(': ');
      if (error instanceof GatewayError) throw new StartError(`${config.file}: the gateway database is not reachable (${why})`);
      throw new StartError(`${config.file}: the gateway database refuses the connection: ${firstLine(error)}`);
    });
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Throws `StartError` unless the schema is the one that this program was written for. */
export async function requireSchema(database: Database): Promise<void> {
  const found = await findSchema(database);
  if (found === schemaVersion) return;
  throw new StartError(
    found === null
      ? 'the gateway database is empty: start a server first'
      : `the gateway database has schema ${found}, this program needs ${schemaVersion}: start a server of this version first`,
  );
}

/** The database's newest migration; null if no server was ever started on it. */
export async function findSchema(database: Database): Promise<string | null> {
  const [row] = await database.query<{ there: boolean }>(`select to_regclass('schema_migrations') is not null as there`);
  return row?.there ? ((await appliedSchemaVersion(database)) ?? null) : null;
}
