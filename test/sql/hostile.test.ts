import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlJudge, type SqlJudge, type Verdict } from '../../sql/judge.js';
import { createJudgeThread } from '../../sql/judge-thread.js';

let sql: SqlJudge;
beforeAll(async () => {
  sql = await createSqlJudge();
});
afterAll(() => sql.close());

const options = { dialect: 'postgresql', statementTimeoutSecs: 30 } as const;
const judge = (text: string): Promise<Verdict> => sql.judge(text, options);
const nested = (open: string, inner: string, close: string, n: number): string => open.repeat(n) + inner + close.repeat(n);

const hostile: [string, string][] = [
  ['20,000 nested parentheses', `SELECT ${nested('(', '1', ')', 20_000)}`],
  ['20,000 nested NOT', `SELECT ${'NOT '.repeat(20_000)}true`],
  ['20,000 nested sub-selects', nested('SELECT (', '1', ')', 20_000)],
  ['nesting too deep below the limit of the caller’s thread', `SELECT 1${'+1'.repeat(1_000)}`],
  ['nesting too deep above that limit', `SELECT 1${'+1'.repeat(8_000)}`],
  ['50,000 additions', `SELECT 1${'+1'.repeat(50_000)}`],
  ['7,000 unions', `SELECT 1${' UNION SELECT 1'.repeat(7_000)}`],
  ['one operator of 100,000 characters', `SELECT 1${'+'.repeat(100_000)}1`],
  ['NUL before a second statement', 'SELECT 1\0; DROP TABLE t'],
  ['a lone surrogate', "SELECT '\ud800'"],
  ['an invalid escape', "SELECT E'\\xff'"],
  ['an escape to NUL', "SELECT E'\\000'"],
  ['an invalid Unicode escape', "SELECT U&'\\d800'"],
  ['101 statements', 'SELECT 1;'.repeat(101)],
  ['more than 1 MiB', `SELECT '${'x'.repeat(1_048_576)}'`],
  ['a no-break space alone', '\u00a0'],
];

describe('hostile texts (SQ-7, SQ-I6)', () => {
  it.each(hostile)(
    'refuses %s and judges the next texts right',
    async (_name, text) => {
      expect((await judge(text)).verdict).toBe('refused');
      expect(await judge('SELECT pg_sleep(1)')).toMatchObject({ verdict: 'accepted', write: true });
      expect(await judge('SELECT 1')).toMatchObject({ verdict: 'accepted', read: true });
      expect(await judge(`SELECT 1${' '.repeat(5_000)}`)).toMatchObject({ verdict: 'accepted', read: true });
      expect(await sql.redact(text, 'postgresql')).toMatch(/^\[unparsable SQL removed\]$|^SELECT/);
    },
    30_000,
  );

  it.each([
    ['a list of 50,000 values', `SELECT 1${',1'.repeat(49_995)}`],
    ['a literal of 100,000 bytes', `SELECT '${'x'.repeat(99_991)}'`],
    ['8,000 parentheses, which the grammar drops', `SELECT ${nested('(', '1', ')', 8_000)}`],
  ])('judges %s', async (_name, text) => {
    expect(await judge(text)).toMatchObject({ verdict: 'accepted', read: true, statements: [{ text }] });
  });

  it('judges many long texts asked at once, each by its own text', async () => {
    const texts = Array.from({ length: 20 }, (_, n) => `${n % 2 === 0 ? 'SELECT' : 'DELETE FROM'} t${n} -- ${'x'.repeat(3_000)}`);
    const verdicts = await Promise.all(texts.map(judge));
    for (const [n, verdict] of verdicts.entries())
      expect(verdict).toMatchObject({ read: n % 2 === 0, statements: [{ text: texts[n] }] });
  });

  it('refuses long texts beyond the bound of the queue instead of keeping them', async () => {
    const texts = Array.from({ length: 60 }, () => `SELECT 1 -- ${'x'.repeat(3_000)}`);
    const verdicts = await Promise.all(texts.map(judge));
    expect(verdicts.filter((each) => each.verdict === 'accepted')).toHaveLength(32);
    expect(verdicts.at(-1)).toMatchObject({ reason: 'not understood: too many long texts are being judged' });
  });
});

describe('the judging thread', () => {
  it('loses only the text that ran over', async () => {
    const thread = createJudgeThread({ textMs: 200, startMs: 10_000, tasks: 8 });
    const task = (text: string) => ({ kind: 'judge', text, options }) as const;
    const slow = thread.run(task(`SELECT 1${'+'.repeat(100_000)}1`));
    const next = thread.run(task('SELECT 1'));
    expect(await slow).toMatchObject({ ok: false });
    expect(await next).toMatchObject({ ok: true, answer: { verdict: 'accepted' } });
    await thread.close();
    expect(await thread.run(task('SELECT 1'))).toMatchObject({ ok: false });
  }, 30_000);

  it('refuses what still waits when the judge is closed', async () => {
    const other = await createSqlJudge();
    const waiting = other.judge(`SELECT 1${' '.repeat(5_000)}`, options);
    await other.close();
    expect((await waiting).verdict).toBe('refused');
  });
});
