import { keywords } from '../../lib/sql-tokens.js';
import type { Context } from '../context.js';
import type { Complete } from './lines.js';

const commands = ['\\d', '\\dt', '\\q', '\\?'];

/** Completes commands, keywords, and the names of tables; these are read once, at the first Tab. */
export function createCompletion(context: Context, database: string, environment: string): Complete {
  let tables: Promise<string[]> | undefined;
  return async (line) => {
    if (/^\\\S*$/.test(line)) return [commands.filter((command) => command.startsWith(line)), line];
    const word = /[\p{L}\p{N}_$.]*$/u.exec(line)?.[0] ?? '';
    tables ??= tableNames(context, database, environment);
    const isLower = word === word.toLowerCase();
    const words = [...(await tables), ...[...keywords].map((keyword) => (isLower ? keyword.toLowerCase() : keyword))];
    return [[...new Set(words)].filter((one) => word !== '' && one.toLowerCase().startsWith(word.toLowerCase())).sort(), word];
  };
}

/** Without a snapshot there are none. Only names that need no quotes: the others may have been chosen to control the terminal. */
async function tableNames(context: Context, database: string, environment: string): Promise<string[]> {
  const reply = await context
    .client()
    .call({ method: 'GET', path: ['api', 'schemas', database], query: { environment } })
    .catch(() => null);
  const tables = reply?.json().get('tables')?.items() ?? [];
  return tables.flatMap((table) => {
    const [schema, name] = [table.get('schema_name')?.string() ?? '', table.get('name')?.string() ?? ''];
    return (schema === '' || schema === 'public' ? [name] : [name, `${schema}.${name}`]).filter((one) => plainName.test(one));
  });
}

const plainName = /^[\p{L}_][\p{L}\p{N}_$]*(\.[\p{L}_][\p{L}\p{N}_$]*)?$/u;
