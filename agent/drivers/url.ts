import type { Dialect } from '../../domain/statement.js';
import { readMysqlUrl } from './mysql/url.js';

/** The kind of database an address names by its scheme, null for one we do not have. */
export function dialectOfUrl(url: string): Dialect | null {
  if (/^postgres(ql)?:\/\//.test(url)) return 'postgresql';
  return /^(mysql|mariadb):\/\//.test(url) ? 'mysql' : null;
}

/** What is wrong with the address of a database, without any part of it, or null. */
export function urlProblem(url: string): string | null {
  const dialect = dialectOfUrl(url);
  if (dialect === null) return 'unsupported URL scheme';
  if (dialect === 'postgresql') return URL.canParse(url) ? pathProblem(new URL(url)) : 'is no address';
  const read = readMysqlUrl(url);
  return typeof read === 'string' ? read : null;
}

/** The agent has to know the path by which names are found (HD-30). */
function pathProblem({ searchParams }: URL): string | null {
  return /search_path/i.test(searchParams.get('options') ?? '')
    ? 'holds a search_path in its options; use the key search_path'
    : null;
}
