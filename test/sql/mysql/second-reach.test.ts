import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClassifierThread } from '../../../sql/classifier-thread.js';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../../sql/classify.js';
import { lexMysql } from '../../../sql/mysql/lexer.js';
import { loadSecondParser } from '../../../sql/mysql/second-parser.js';
import { isWithinReach } from '../../../sql/mysql/second-reach.js';
import { unhurried } from '../../support/unhurried.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier(unhurried);
});
afterAll(() => sql?.close());

const options = { dialect: 'mysql', statementTimeoutSecs: 30 } as const;
const classify = (text: string): Promise<Verdict> => sql.classify(text, options, 'alice');
const seenIn = (verdict: Verdict): string => (verdict.verdict !== 'accepted' ? verdict.verdict : verdict.read ? 'read' : 'write');

const nested = (open: string, inner: string, close: string, n: number): string => `${open.repeat(n)}${inner}${close.repeat(n)}`;

describe('hostile texts and the second parser (SQ-7, SQ-I6)', () => {
  it.each([
    ['1,000 additions, which break it', `SELECT 1${'+1'.repeat(1_000)}`, 'read'],
    ['30,000 additions', `SELECT 1${'+1'.repeat(30_000)}`, 'read'],
    ['nested INTERVAL, for which it takes ever longer', `SELECT ${'INTERVAL '.repeat(40)}1`, 'read'],
    ['nested POSITION', `SELECT ${nested('POSITION(', '1 1', ' IN 1)', 40)}`, 'read'],
    ['nested CAST', `SELECT ${nested('CAST(', '1', ' AS char)', 48)}`, 'read'],
    ['nested CASE', `SELECT ${nested('CASE WHEN 1 THEN ', '1 1', ' END', 100)}`, 'read'],
    ['7,000 unions', `SELECT 1${' UNION SELECT 1'.repeat(6_600)}`, 'read'],
    ['20,000 parentheses', `SELECT ${nested('(', '1', ')', 20_000)}`, 'refused'],
    ['NUL before a second statement', 'SELECT 1\0; DROP TABLE t', 'refused'],
    ['a list of 49,000 values', `SELECT * FROM t WHERE a IN (1${',1'.repeat(49_000)})`, 'read'],
    ['an INSERT of 100,000 bytes', `INSERT INTO t VALUES ${"(1,'abcdefghijklmnopqrst'),".repeat(3_700)}(1,'')`, 'write'],
    ['200 conditions', `SELECT * FROM t WHERE a = 1${' OR a = 1'.repeat(200)}`, 'read'],
  ])('%s: classified or refused, and so is what comes next', async (_name, each, expected) => {
    expect(seenIn(await classify(each))).toBe(expected);
    expect(await classify('SELECT sleep(1)')).toMatchObject({ verdict: 'accepted', write: true });
    expect(await classify('SELECT 1')).toMatchObject({ verdict: 'accepted', read: true });
  });

  it.each([
    ['400 additions', `SELECT 1${'+1'.repeat(400)}`, true],
    ['1,000 additions', `SELECT 1${'+1'.repeat(1_000)}`, false],
    ['1,000 additions split over parentheses', `SELECT ${nested('(', '1', `${'+1'.repeat(100)})`, 10)}`, false],
    ['ten CASTs in each other', `SELECT ${nested('CAST(', '1', ' AS char)', 10)}`, true],
    ['eleven', `SELECT ${nested('CAST(', '1', ' AS char)', 11)}`, false],
    ['100 CASTs in a list', `SELECT 1${', CAST(1 AS char)'.repeat(100)}`, true],
    ['eleven in each other behind a comma', `SELECT f(1, ${nested('CAST(f(1, ', '1', ') AS char)', 11)}, 1), 1`, false],
    ['30,000 values', `SELECT * FROM t WHERE a IN (1${',1'.repeat(15_000)})`, true],
  ])('it is asked about %s: %s', (_name, each, asked) => {
    const lexed = lexMysql(each);
    expect(lexed.ok && isWithinReach(each, lexed.tokens)).toBe(asked);
  });

  it('a task that ends its thread costs only itself', async () => {
    const thread = createClassifierThread('mysql', { textMs: 60_000, startMs: 60_000 });
    const task = (each: string) => ({ kind: 'classify', text: each, options }) as const;
    const answers = await Promise.all([
      thread.run(task('SELECT 1'), 'alice'),
      thread.run({ kind: 'classify', text: 'SELECT 1', options: { ...options, dialect: 'postgresql' } }, 'mallory'),
      thread.run(task('DELETE FROM t'), 'alice'),
    ]);
    expect(answers).toMatchObject([
      { ok: true, answer: { read: true } },
      { ok: false, why: 'classifying took too long or too much memory' },
      { ok: true, answer: { write: true } },
    ]);
    await thread.close();
  }, 120_000);

  it('texts of MySQL that find no room leave room for those of PostgreSQL', async () => {
    const many = Promise.all(Array.from({ length: 200 }, () => classify(`SELECT 1 -- ${'x'.repeat(3_000)}`)));
    const long = await sql.classify(`SELECT 1 -- ${'x'.repeat(3_000)}`, { ...options, dialect: 'postgresql' }, 'alice');
    expect(long).toMatchObject({ verdict: 'accepted', read: true });
    expect((await many).at(-1)).toMatchObject({ busy: true });
  });

  it('a text that breaks the second parser is not taken for one that it does not know', async () => {
    const parser = await loadSecondParser();
    expect(parser.parse('SELECT 1')).toHaveLength(1);
    expect(parser.parse('DO 1')).toBeNull();
    expect(parser.worn).toBe(false);
    expect(() => parser.parse(`SELECT 1${'+1'.repeat(5_000)}`)).toThrow();
    expect((await loadSecondParser()).parse('SELECT 1')).toHaveLength(1);
  });
});
