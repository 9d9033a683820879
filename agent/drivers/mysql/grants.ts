import type { MysqlSession } from './session.js';

/** Rights that change nothing in the data. */
const harmless = new Set([
  ...['USAGE', 'SELECT', 'SHOW VIEW', 'SHOW DATABASES', 'PROCESS', 'REPLICATION CLIENT', 'BINLOG MONITOR', 'SLAVE MONITOR'],
  ...['REPLICA MONITOR', 'SHOW_ROUTINE', 'SHOW CREATE ROUTINE'],
]);

/** The rights beyond reading that a line of SHOW GRANTS gives; the parts of a role are not told there. */
export function writingRights(grant: string): string[] {
  const given = /^GRANT (.*?) ON /.exec(grant)?.[1];
  if (given === undefined) return [];
  const rights = given.replace(/\([^)]*\)/g, '').split(',');
  return rights.map((right) => right.trim().toUpperCase()).filter((right) => !harmless.has(right));
}

/** What the account for reads may do beyond reading, in words, or null. MySQL and MariaDB have no other sure guard against a write. */
export async function readAccountProblem(session: MysqlSession): Promise<string | null> {
  const grants = (await session.query('show grants')).map(([line]) => line ?? '');
  const rights = [...new Set(grants.flatMap(writingRights))];
  if (rights.length === 0) return null;
  const shown = rights.slice(0, 5).join(', ');
  return `the account of reads may write (${shown}${rights.length > 5 ? ', ...' : ''}); set read_url to one that can only SELECT`;
}
