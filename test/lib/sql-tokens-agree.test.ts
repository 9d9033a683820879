import fc from 'fast-check';
import { loadModule, scanSync } from 'libpg-query';
import { beforeAll, expect, it } from 'vitest';
import { sqlTokens } from '../../lib/sql-tokens.js';
import { lexMysql } from '../../sql/mysql/lexer.js';

beforeAll(loadModule);

/** Where our colours say comment or text. */
function coloured(sql: string): { start: number; end: number }[] {
  let at = 0;
  return sqlTokens(sql).flatMap(({ kind, text }) => {
    at += text.length;
    return kind === 'comment' || kind === 'text' ? [{ start: at - text.length, end: at }] : [];
  });
}

const inside = (starts: readonly number[], parts: readonly { start: number; end: number }[]) =>
  starts.filter((at) => parts.some(({ start, end }) => at > start && at < end));

/** Where PostgreSQL reads something to run; none of a text that it cannot read. */
function runByPostgres(sql: string): number[] {
  const bytes = Buffer.from(sql);
  try {
    const { tokens } = scanSync(sql);
    return tokens
      .filter(({ text }) => !/^(--|\/\*|[enbxu]?&?['$])/i.test(text))
      .map(({ start }) => bytes.subarray(0, start).toString().length);
  } catch {
    return [];
  }
}

function runByMysql(sql: string): number[] {
  const lexed = lexMysql(sql);
  return lexed.ok ? lexed.tokens.filter(({ kind }) => kind !== 'string').map(({ start }) => start) : [];
}

const pieces = [
  "'",
  '"',
  '`',
  '--',
  '-- ',
  '/*',
  '*/',
  '#',
  '\n',
  '\r',
  '\\',
  '$',
  '$$',
  '$a$',
  '\u00a0',
  ' ',
  'a',
  'é',
  '1',
  '1.5',
  ';',
  ',',
  '.',
  'E',
  'x',
];

it('nothing that a database runs is coloured as a comment or a text (HD-61)', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 24 }), (parts) => {
      const sql = parts.join('');
      expect(inside([...runByPostgres(sql), ...runByMysql(sql)], coloured(sql))).toEqual([]);
    }),
    { numRuns: 20_000 },
  );
});
