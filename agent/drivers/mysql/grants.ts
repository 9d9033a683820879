import type { MysqlSession } from './session.js';

/** Privileges that change no data. */
const harmless = new Set([
  'USAGE',
  'SELECT',
  'SHOW VIEW',
  'SHOW DATABASES',
  'PROCESS',
  'REPLICATION CLIENT',
  'BINLOG MONITOR',
  'SLAVE MONITOR',
  'REPLICA MONITOR',
  'SHOW_ROUTINE',
  'SHOW CREATE ROUTINE',
]);

/** The privileges beyond reading in a line of SHOW GRANTS; a granted role's privileges are not listed there. */
export function writingRights(grant: string): string[] {
  const given = /^GRANT (.*?) ON /.exec(grant)?.[1];
  if (given === undefined) return [];
  const rights = given.replace(/\([^)]*\)/g, '').split(',');
  return rights.map((right) => right.trim().toUpperCase()).filter((right) => !harmless.has(right));
}

/**
 * What the read account may do beyond reading, in words, or null. MySQL and MariaDB have no other reliable guard against writes.
 */
export async function readAccountProblem(session: MysqlSession): Promise<string | null> {
  const grants = (await session.query('show grants')).map(([line]) => line ?? '');
  const rights = [...new Set(grants.flatMap(writingRights))];
  if (rights.length === 0) return null;
  const shown = rights.slice(0, 5).join(', ');
  return `the account of reads may write (${shown}${rights.length > 5 ? ', ...' : ''}); set read_url to one that can only SELECT`;
}
