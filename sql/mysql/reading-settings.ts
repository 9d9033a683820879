import type { MysqlToken } from './lexer.js';
import { limitCharset, modesAllowed } from './settings.js';
import { nameOf } from './statement.js';

/**
 * The setting of a SET that would change how later texts are read, or null (HD-30). A computed value shows only when it runs; the session undoes it
 * before the next statement.
 */
export function settingOfReading(tokens: readonly MysqlToken[]): string | null {
  const words = tokens.map((token) => (nameOf(token) ?? token.upper).toUpperCase());
  for (const [at, word] of words.entries()) {
    const begins = at === 1 || words[at - 1] === ',';
    const valueAt = begins ? (charsetAt(words, at) ?? assignedAt(words, at, word)) : assignedAt(words, at, word);
    const value = valueAt === null ? undefined : tokens[valueAt];
    if (value === undefined || value.kind === 'sign') continue;
    const isMode = word === 'SQL_MODE';
    const changes = isMode ? hasReadingMode(value) : limitCharset(value) !== null;
    if (changes)
      return isMode
        ? 'sql_mode'
        : words
            .slice(at, valueAt ?? at)
            .join(' ')
            .replace(/ :?=$/, '')
            .toLowerCase();
  }
  return null;
}

/** Where the character set of NAMES, CHARSET or CHARACTER SET stands. */
function charsetAt(words: readonly string[], at: number): number | null {
  if (words[at] === 'NAMES' || words[at] === 'CHARSET') return words[at + 1] === '=' ? null : at + 1;
  return words[at] === 'CHARACTER' && words[at + 1] === 'SET' ? at + 2 : null;
}

/** Where the value of such a variable of the session stands: not of `@sql_mode`, nor of the server's own. */
function assignedAt(words: readonly string[], at: number, word: string): number | null {
  if (word !== 'SQL_MODE' && word !== 'CHARACTER_SET_CLIENT') return null;
  if (words[at + 1] !== '=' && words[at + 1] !== ':=') return null;
  const [scope, before] = words[at - 1] === '.' ? [words[at - 2], words[at - 3]] : [words[at - 1], words[at - 2]];
  return servers.has(scope ?? '') || (scope === '@' && before !== '@') ? null : at + 2;
}

function hasReadingMode({ kind, text }: MysqlToken): boolean {
  const modes = (kind === 'string' ? text.slice(1, -1) : text).replace(/\s*,\s*/g, ',').trim();
  return modesAllowed(modes) !== modes;
}

const servers = new Set(['GLOBAL', 'PERSIST', 'PERSIST_ONLY']);
