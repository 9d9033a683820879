import type { Dialect } from '../../domain/statement.js';
import { unreadableUrl } from '../../lib/unreadable-url.js';
import { readMysqlUrl } from './mysql/url.js';

/** The kind of database by the address's scheme; null for an unsupported one. */
export function dialectOfUrl(url: string): Dialect | null {
  if (/^postgres(ql)?:\/\//.test(url)) return 'postgresql';
  return /^(mysql|mariadb):\/\//.test(url) ? 'mysql' : null;
}

/** What is wrong with a database address, quoting nothing of it, or null. */
export function urlProblem(url: string): string | null {
  const dialect = dialectOfUrl(url);
  if (dialect === null) return 'must begin with postgres://, postgresql://, mysql:// or mariadb://';
  if (dialect === 'postgresql') return URL.canParse(url) ? pathProblem(new URL(url)) : unreadableUrl;
  const read = readMysqlUrl(url);
  return typeof read === 'string' ? read : null;
}

/** The agent must know the path that resolves names (HD-30). */
function pathProblem({ searchParams }: URL): string | null {
  return /search_path/i.test(searchParams.get('options') ?? '')
    ? 'holds a search_path in its options; use the key search_path'
    : null;
}
