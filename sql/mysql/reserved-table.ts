import { isMarkerSchema, type ReservedNames, reservedIn } from '../reserved-table.js';
import type { MysqlToken } from './lexer.js';
import { nameOf } from './statement.js';

/** The marker table, if a token names it or a string holds its name, even when the string is written in pieces (HD-40). */
export function reservedInTokens(tokens: readonly MysqlToken[], names: ReservedNames): string | null {
  const strings = tokens.filter(({ kind }) => kind === 'string').map(({ text }) => text.replace(/^\w?['"]|['"]$/g, ''));
  const plain = strings.map((text) => text.replace(/\\(.)/gs, '$1'));
  return reservedIn([...tokens.map((token) => nameOf(token) ?? ''), ...strings, ...plain, plain.join('')], names);
}

/** The markers' database, if a statement of a migration drops it, alters it, or grants rights on all of it. */
export function reservedDatabaseIn(tokens: readonly MysqlToken[], names: ReservedNames): string | null {
  const [first, second] = [tokens[0]?.upper ?? '', tokens[1]?.upper ?? ''];
  const whole = (first === 'DROP' || first === 'ALTER') && (second === 'DATABASE' || second === 'SCHEMA');
  const at = tokens.findIndex((token, index) => {
    const name = nameOf(token);
    if (name === null || !isMarkerSchema(name, names)) return false;
    return whole || (first === 'GRANT' && tokens[index + 1]?.upper === '.' && tokens[index + 2]?.upper === '*');
  });
  return at === -1 ? null : `database ${tokens[at]!.text}`;
}
