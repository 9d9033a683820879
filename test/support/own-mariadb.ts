import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMariadb } from '../../dev/mariadb/program.js';
import { type MariadbServer, startMariadb } from '../../dev/mariadb/server.js';
import { makeDataFolder } from './memory-folder.js';
import { noteNotRun } from './not-run.js';

/** With these settings a commit survives a kill of the server. */
export const durable = ['default-storage-engine=InnoDB', 'innodb-flush-log-at-trx-commit=1', 'innodb-doublewrite=1'];

/**
 * A MariaDB for one test file alone, with its binary log on and `more` settings, for tests that count what the whole server does.
 * `stop` it after the file. Null if there is no program (DV-12): skip the tests of the file, whose `import.meta.url` is noted.
 */
export async function openOwnMariadb(testFile: string, more: readonly string[] = []): Promise<MariadbServer | null> {
  const signal = AbortSignal.timeout(10 * 60_000);
  const program = await findMariadb({ signal, report: (line) => console.error(line) }).catch((error: Error) => error);
  if (program instanceof Error) {
    noteNotRun(testFile, program.message);
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), 'svc-own-mariadb-'));
  chmodSync(folder, 0o755);
  const settings = ['log-bin=binlog', 'binlog-format=ROW', 'server-id=1', 'default-storage-engine=Aria', 'userstat=1', ...more];
  const dataFolder = makeDataFolder('svc-own-mariadb-');
  const server = await startMariadb({ program, folder, dataFolder, settings });
  const stopServer = server.stop;
  const stop = async () => {
    await stopServer();
    for (const used of [folder, dataFolder]) rmSync(used, { recursive: true, force: true });
  };
  return Object.assign(server, { stop });
}
