import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type DebianOptions, debianRelease, unpackDebian } from '../../dev/mariadb/debian.js';
import { mariadbCache } from '../../dev/mariadb/program.js';
import { withLock } from '../../dev/with-lock.js';

const place = 'usr/share/mysql/mysql-test/main';
const fetchWaitMs = 10 * 60_000;

/**
 * The folder of MariaDB's own test files: installed, in our cache, or fetched into it from Debian's package. Throws when there is
 * none.
 */
export async function findMariadbSuite(options: DebianOptions): Promise<string> {
  const installed = join('/', place);
  if (existsSync(join(installed, 'select.test'))) return installed;
  const release = debianRelease();
  if (release === null) throw new Error('no test files of MariaDB; install mariadb-test-data');
  const root = join(mariadbCache(), `${release}-tests`);
  const report = (line: string) => options.report(`MariaDB: ${line}`);
  const onWait = (holder: number) => report(`process ${holder} is fetching the test files, waiting for it`);
  await withLock(`${root}.lock`, { waitMs: fetchWaitMs, signal: options.signal, onWait }, async () => {
    if (!existsSync(root)) await unpackDebian('mariadb-test-data', `*/${place}/*.test`, root, { ...options, report });
  });
  return join(root, place);
}
