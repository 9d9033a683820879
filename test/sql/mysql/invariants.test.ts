import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../../sql/classify.js';
import { lexMysql } from '../../../sql/mysql/lexer.js';
import { unhurried } from '../../support/unhurried.js';
import { mysqlVectors } from '../mysql-vectors.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier(unhurried);
});
afterAll(() => sql.close());

const options = { dialect: 'mysql', statementTimeoutSecs: 30 } as const;
const classify = (text: string): Promise<Verdict> => sql.classify(text, options);
const runs = { numRuns: 300 };

/** Texts of one accepted statement. */
const singles = mysqlVectors
  .filter(({ expected }) => expected !== 'refused')
  .flatMap(({ texts }) => texts)
  .filter((text) => !text.includes(';') && !text.includes('#'));
const single = fc.constantFrom(
  ...singles,
  "SET time_zone = 'UTC'",
  "SELECT 'é;😀'",
  'SELECT "`", `"` FROM t',
  'CREATE VIEW `ä` AS SELECT 1',
);
const gap = fc.constantFrom(
  ' ',
  '\n',
  '\t',
  ' /* x; DELETE FROM t */ ',
  ' -- y; DROP TABLE t\n',
  '# " \n',
  '\r\n\f',
  ' /* é /* ` */ ',
);

interface Flags {
  write: boolean;
  ddl: boolean;
}
const flagsOf = (verdict: Verdict): Flags | null =>
  verdict.verdict === 'accepted' ? { write: verdict.write, ddl: verdict.ddl } : null;

describe('SQ-I2 on MySQL: rewriting a text never lowers its class', () => {
  it('with comments, white space and upper case between and in its words', async () => {
    await fc.assert(
      fc.asyncProperty(single, fc.array(gap, { minLength: 1, maxLength: 8 }), fc.boolean(), async (text, gaps, upper) => {
        const lexed = lexMysql(text);
        if (!lexed.ok) throw new Error(text);
        const changed = lexed.tokens
          .map((token) => (upper && token.kind === 'word' ? token.text.toUpperCase() : token.text))
          .map((word, at) => (at === 0 ? word : `${gaps[at % gaps.length]}${word}`))
          .join('');
        expect({ text: changed, ...flagsOf(await classify(changed)) }).toEqual({
          text: changed,
          ...flagsOf(await classify(text)),
        });
      }),
      runs,
    );
  });

  it('with parentheses, a WITH or EXPLAIN ANALYZE around it', async () => {
    const wrappers = [
      (text: string) => `(${text}\n)`,
      (text: string) => `WITH zz AS (SELECT 1) ${text}`,
      (text: string) => `EXPLAIN ANALYZE ${text}`,
      (text: string) => `SELECT 1 UNION (${text})`,
      (text: string) => `SELECT * FROM (${text}) q`,
      (text: string) => `INSERT INTO zz ${text}`,
    ];
    await fc.assert(
      fc.asyncProperty(single, fc.constantFrom(...wrappers), async (text, wrap) => {
        const [low, high] = [flagsOf(await classify(text)), flagsOf(await classify(wrap(text)))];
        const isQuery = /^(SELECT|VALUES|TABLE)/.test(text);
        if (low === null || high === null || !isQuery) return;
        expect(high.write || !low.write).toBe(true);
        expect(high.ddl || !low.ddl).toBe(true);
      }),
      runs,
    );
  });
});

describe('SQ-I3 on MySQL: the class of a batch is the union over its statements, in any order', () => {
  it('unless the order makes it refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(single, { minLength: 1, maxLength: 5 }), async (texts) => {
        const alone = await Promise.all(texts.map(classify));
        const union = { write: alone.some((each) => flagsOf(each)?.write), ddl: alone.some((each) => flagsOf(each)?.ddl) };
        for (const order of [texts, [...texts].reverse()]) {
          const verdict = await classify(order.join(';'));
          if (verdict.verdict === 'accepted') expect(flagsOf(verdict)).toEqual(union);
          else expect(verdict).toHaveProperty('reason', expect.stringMatching(/^(settings|a batch|in a batch) /));
        }
      }),
      runs,
    );
  });
});

describe('SQ-I4 on MySQL: slices and gaps give back the text', () => {
  const betweenStatements = /^([ \t\n\r\f;]|--[^\n]*(\n|$)|#[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)*$/;
  const writes = fc.constantFrom(
    ...singles.filter((text) => /^(INSERT|UPDATE|DELETE|CREATE|ALTER|TRUNCATE)/.test(text)),
    "DELETE FROM t WHERE a = '😀;é'",
  );

  it('byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(gap, writes, gap), { minLength: 1, maxLength: 5 }), async (parts) => {
        const text = `${parts.map((part) => part.join('')).join(';')};;`;
        const verdict = await classify(text);
        if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
        let at = 0;
        for (const [index, statement] of verdict.statements.entries()) {
          const start = text.indexOf(statement.text, at);
          expect(text.slice(at, start)).toMatch(betweenStatements);
          expect(statement.text).toBe(parts[index]?.[1]);
          at = start + statement.text.length;
        }
        expect(text.slice(at)).toMatch(betweenStatements);
      }),
      runs,
    );
  });
});

describe('SQ-I5 and SQ-I6 on MySQL', () => {
  it('gives the same verdict in another classifier, and on the thread for long texts', async () => {
    const other = await createSqlClassifier(unhurried);
    const noise = fc.string({ unit: fc.constantFrom(...'SELECT FROM t;\'"`\\/*#-!+()@:=.1e\n'), maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.oneof(single, noise), async (text) => {
        const first = await classify(text);
        expect(await other.classify(text, options)).toEqual(first);
        if (first.verdict === 'accepted') expect(await other.classify(`${text}\n${' '.repeat(3_000)}`, options)).toEqual(first);
      }),
      { numRuns: 200 },
    );
    await other.close();
  });

  it.each([
    ['100 KB of quotes', "'".repeat(99_999)],
    ['100 KB of quotes that pair up', `SELECT ${"''".repeat(50_000)}'`],
    ['100 KB of backslashes in an open quote', `SELECT '${'\\'.repeat(100_001)}`],
    ['100 KB of open comments', '/*'.repeat(50_000)],
    ['100 KB of backticks', '`'.repeat(100_001)],
    ['20,000 nested parentheses', `SELECT ${'('.repeat(20_000)}1${')'.repeat(20_000)}`],
    ['20,000 nested NOT', `SELECT ${'NOT '.repeat(20_000)}1`],
    ['101 statements', 'SELECT 1;'.repeat(101)],
    ['a WITH of 10,000 parts without a query', `WITH ${'a AS (SELECT 1),'.repeat(6_000)}`],
    ['NUL before a second statement', 'SELECT 1\0; DROP TABLE t'],
  ])('refuses %s', async (_name, text) => {
    expect((await classify(text)).verdict).toBe('refused');
    expect(await sql.redact(text, 'mysql')).toMatch(/^\[unparsable|^WITH|^SELECT/);
    expect(await classify('SELECT sleep(1)')).toMatchObject({ write: true });
  });
});
