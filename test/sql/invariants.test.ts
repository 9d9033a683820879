import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../sql/classify.js';
import { healthyParser, type Parser } from '../../sql/postgres/parser.js';
import { share } from '../support/share.js';
import { unhurried } from '../support/unhurried.js';
import { postgresqlVectors } from './vectors.js';

let sql: SqlClassifier;
let parser: Parser;
beforeAll(async () => {
  sql = await createSqlClassifier(unhurried);
  parser = await healthyParser();
});
afterAll(() => sql.close());

const options = { dialect: 'postgresql', statementTimeoutSecs: 30 } as const;
const classify = (text: string): Promise<Verdict> => sql.classify(text, options);
const runs = { numRuns: share(60, 300) };

/** Texts of one accepted statement, without a semicolon. */
const singles = postgresqlVectors
  .filter(({ expected }) => expected !== 'refused' && expected !== 'empty')
  .flatMap(({ texts }) => texts)
  .filter((text) => !text.includes(';') && text.length < 300);
const single = fc.constantFrom(
  ...singles,
  "SET timezone = 'UTC'",
  'SET lock_timeout = 5',
  "SELECT 'é;😀'",
  'CREATE VIEW "ä" AS SELECT 1',
);
const gap = fc.constantFrom(
  ' ',
  '\n',
  '\t',
  ' /* x; DELETE FROM t */ ',
  ' /* a /* b */ é */ ',
  ' -- y; DROP TABLE t\n',
  '\r\n\f',
);

interface Flags {
  write: boolean;
  ddl: boolean;
}
const flagsOf = (verdict: Verdict): Flags | null =>
  verdict.verdict === 'accepted' ? { write: verdict.write, ddl: verdict.ddl } : null;

function expectNotLower(before: Verdict, after: Verdict): void {
  const [low, high] = [flagsOf(before), flagsOf(after)];
  if (low === null || high === null) return;
  expect(high.write || !low.write).toBe(true);
  expect(high.ddl || !low.ddl).toBe(true);
}

describe('SQ-I2: rewriting a text never lowers its class', () => {
  it('with comments, white space and upper case between and in its words', async () => {
    await fc.assert(
      fc.asyncProperty(single, fc.array(gap, { minLength: 1, maxLength: 8 }), fc.boolean(), async (text, gaps, upper) => {
        const bytes = Buffer.from(text);
        const words = (parser.scan(text) ?? []).filter(({ name }) => !name.includes('COMMENT'));
        const changed = words
          .map(({ start, end }) => bytes.toString('utf8', start, end))
          .map((word) => (upper && !/['"$]/.test(word) ? word.toUpperCase() : word))
          .map((word, at) => (at === 0 ? word : `${gaps[at % gaps.length]}${word}`))
          .join('');
        const [before, after] = [await classify(text), await classify(changed)];
        expect({ text: changed, ...flagsOf(after) }).toEqual({ text: changed, ...flagsOf(before) });
      }),
      runs,
    );
  });

  it('with parentheses, a WITH or EXPLAIN ANALYZE around it', async () => {
    const wrappers = [
      (text: string) => `(${text}\n)`,
      (text: string) => `((${text}))`,
      (text: string) => `WITH zz AS (SELECT 1) ${text}`,
      (text: string) => `EXPLAIN ANALYZE ${text}`,
      (text: string) => `EXPLAIN (COSTS off, ANALYZE, ANALYZE false) ${text}`,
      (text: string) => `SELECT 1 UNION (${text})`,
      (text: string) => `SELECT * FROM (${text}) q`,
      (text: string) => `INSERT INTO zz ${text}`,
    ];
    await fc.assert(
      fc.asyncProperty(single, fc.constantFrom(...wrappers), async (text, wrap) =>
        expectNotLower(await classify(text), await classify(wrap(text))),
      ),
      runs,
    );
  });
});

describe('SQ-I3: the class of a batch is the union over its statements, in any order', () => {
  it('unless the order makes it refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(single, { minLength: 1, maxLength: 5 }), fc.nat(), async (texts, turn) => {
        const alone = await Promise.all(texts.map(classify));
        const union = { write: alone.some((each) => flagsOf(each)?.write), ddl: alone.some((each) => flagsOf(each)?.ddl) };
        const at = turn % texts.length;
        for (const order of [texts, [...texts.slice(at), ...texts.slice(0, at)], [...texts].reverse()]) {
          const verdict = await classify(order.join(';'));
          if (verdict.verdict === 'accepted') expect(flagsOf(verdict)).toEqual(union);
          else expect(verdict).toHaveProperty('reason', expect.stringMatching(/^(settings|a batch|in a batch|a statement) /));
        }
      }),
      runs,
    );
  });
});

describe('SQ-I4: slices and gaps give back the text', () => {
  const betweenStatements = /^([ \t\n\r\f;]|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/( é \*\/)?)*$/;
  const writes = fc.constantFrom(
    ...singles.filter(
      (text) => /^(INSERT|UPDATE|DELETE|MERGE|CREATE|ALTER|TRUNCATE)/.test(text) && !text.includes('CONCURRENTLY'),
    ),
    "DELETE FROM t WHERE a = '😀;é'",
  );

  it('byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(gap, writes, gap), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        async (parts, ended) => {
          const text = parts.map((part) => part.join('')).join(';') + (ended ? ';;' : '');
          const verdict = await classify(text);
          if (verdict.verdict !== 'accepted') throw new Error(`${text}: ${JSON.stringify(verdict)}`);
          let at = 0;
          for (const [index, statement] of verdict.statements.entries()) {
            const start = text.indexOf(statement.text, at);
            expect(text.slice(at, start)).toMatch(betweenStatements);
            expect(statement.text).toContain(parts[index]?.[1]);
            at = start + statement.text.length;
          }
          expect(text.slice(at)).toMatch(betweenStatements);
        },
      ),
      runs,
    );
  });
});

describe('SQ-I5: the same input gives the same verdict', () => {
  it('in another classifier, after other texts, and on the thread for long texts', async () => {
    const other = await createSqlClassifier(unhurried);
    const padding = ' '.repeat(3_000);
    const shape = (verdict: Verdict): unknown =>
      verdict.verdict === 'accepted'
        ? { ...verdict, statements: verdict.statements.map((each) => ({ ...each, text: each.text.trim() })) }
        : verdict;
    await fc.assert(
      fc.asyncProperty(fc.oneof(single, fc.string({ unit: 'binary' })), fc.string(), async (text, noise) => {
        const first = await classify(text);
        await other.classify(noise, options);
        expect(await other.classify(text, options)).toEqual(first);
        if (first.verdict === 'accepted')
          expect(shape(await other.classify(`${text}\n${padding}`, options))).toEqual(shape(first));
      }),
      { numRuns: share(30, 150) },
    );
    await other.close();
  });
});

describe('nothing around a write makes it a read', () => {
  const writes = fc.constantFrom(
    'DELETE FROM t WHERE a = 1',
    "SELECT nextval('s')",
    'SELECT * FROM t FOR UPDATE',
    'WITH d AS (UPDATE t SET a = 1 RETURNING *) SELECT * FROM d',
    'DROP TABLE t',
    'EXPLAIN ANALYZE DELETE FROM t',
  );
  const tag = fc.stringMatching(/^[a-z_]{0,8}$/);
  /** Texts that a careless reader could take for the end of a quote or a comment. */
  const decoy = fc
    .tuple(fc.constantFrom('*/', "'", '"', ';', '--', '\\', '$$', "E'", '/*', 'SELECT 1'), tag)
    .map((pair) => pair.join(' '));
  const around = fc.oneof(
    decoy.map((text) => `/* ${text.replaceAll(/\*\/|\/\*/g, ' ')} /* ${text.replaceAll(/\*\/|\/\*/g, ' ')} */ */`),
    decoy.map((text) => `-- ${text}\n`),
    fc.constantFrom(';', ' ', '\t\r\n\f\v', '-- \r', '/**/', '/*\u{1f600}é\u00a0*/', '-- \u2028 \u0085\n'),
  );

  it('neither comments, nested ones, other scripts, semicolons nor white space before and behind it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(around, { maxLength: 12 }),
        writes,
        fc.array(around, { maxLength: 12 }),
        async (before, text, behind) => {
          const verdict = await classify([...before, '\n', text, '\n', ...behind].join(''));
          expect(verdict).not.toMatchObject({ read: true });
        },
      ),
      runs,
    );
  });

  it('nor a quote of any kind that ends before it', async () => {
    const quotes = fc
      .tuple(fc.constantFrom('plain', 'escape', 'dollar', 'unicode', 'name'), tag, decoy)
      .map(([kind, name, text]) => {
        if (kind === 'dollar') return `$${name}$${text.replaceAll('$', '')}$${name}$`;
        if (kind === 'name') return `1 AS "${text.replaceAll('"', '""')}"`;
        const inner = text.replaceAll("'", "''");
        if (kind === 'plain') return `'${inner}'`;
        return `${kind === 'escape' ? 'E' : 'U&'}'${inner.replaceAll('\\', '\\\\')}'`;
      });
    await fc.assert(
      fc.asyncProperty(fc.array(quotes, { minLength: 1, maxLength: 5 }), writes, async (values, text) => {
        const verdict = await classify(`SELECT ${values.join(', ')};\n${text}`);
        expect(verdict).toMatchObject({ verdict: 'accepted', read: false });
      }),
      runs,
    );
  });

  it('nor U+0000, half a surrogate or cut bytes in it: that text is refused', async () => {
    const broken = fc.constantFrom('\0', '\ud800', '\udc00', '\ufffe\0');
    await fc.assert(
      fc.asyncProperty(writes, broken, fc.nat(), async (text, character, position) => {
        const at = position % (text.length + 1);
        expect((await classify(text.slice(0, at) + character + text.slice(at))).verdict).toBe('refused');
      }),
      runs,
    );
  });

  it('nor 100,000 bytes of anything before, behind and in it', async () => {
    const filler = fc.constantFrom(
      (n: number) => ' '.repeat(n),
      (n: number) => `/*${'/**/'.repeat(Math.floor(n / 4))}*/`,
      (n: number) => `${'-- x\n'.repeat(Math.floor(n / 5))}`,
      (n: number) => ';'.repeat(n),
    );
    await fc.assert(
      fc.asyncProperty(writes, filler, filler, async (text, before, behind) => {
        const verdict = await classify(`${before(49_000)}\n${text}\n${behind(49_000)}`);
        expect(verdict).not.toMatchObject({ read: true });
        expect(verdict.verdict).not.toBe('empty');
      }),
      { numRuns: share(4, 12) },
    );
  }, 240_000);

  it('nor nesting, up to where the grammar gives up', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("nextval('s')", 'pg_sleep(1)'),
        fc.integer({ min: 1, max: 3_000 }),
        async (call, depth) => {
          for (const text of [
            `SELECT ${'('.repeat(depth)}${call}${')'.repeat(depth)}`,
            `SELECT ${'(SELECT '.repeat(depth)}${call}${')'.repeat(depth)}`,
          ])
            expect(await classify(text)).not.toMatchObject({ read: true });
        },
      ),
      { numRuns: share(5, 20) },
    );
  }, 60_000);
});
