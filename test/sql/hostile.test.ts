import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createClassifierThread } from '../../sql/classifier-thread.js';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../sql/classify.js';
import { unhurried } from '../support/unhurried.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

const options = { dialect: 'postgresql', statementTimeoutSecs: 30 } as const;
const classify = (text: string): Promise<Verdict> => sql.classify(text, options);
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
    'refuses %s and classifies the next texts right',
    async (_name, text) => {
      expect((await classify(text)).verdict).toBe('refused');
      expect(await classify('SELECT pg_sleep(1)')).toMatchObject({ verdict: 'accepted', write: true });
      expect(await classify('SELECT 1')).toMatchObject({ verdict: 'accepted', read: true });
      expect(await classify(`SELECT 1${' '.repeat(5_000)}`)).toMatchObject({ verdict: 'accepted', read: true });
      expect(await sql.redact(text, 'postgresql')).toMatch(/^\[unparsable SQL removed\]$|^SELECT/);
    },
    30_000,
  );

  it.each([
    ['a list of 50,000 values', `SELECT 1${',1'.repeat(49_995)}`],
    ['a literal of 100,000 bytes', `SELECT '${'x'.repeat(99_991)}'`],
    ['8,000 parentheses, which the grammar drops', `SELECT ${nested('(', '1', ')', 8_000)}`],
  ])('classifies %s', async (_name, text) => {
    const patient = await createSqlClassifier(unhurried);
    onTestFinished(() => patient.close());
    const verdict = await patient.classify(text, options);
    if (verdict.verdict !== 'accepted') throw new Error(JSON.stringify(verdict));
    expect(verdict.read).toBe(true);
    expect(verdict.statements.map((each) => each.text === text)).toEqual([true]);
  });

  it('classifies many long texts asked at once, each by its own text', async () => {
    const texts = Array.from({ length: 16 }, (_, n) => `${n % 2 === 0 ? 'SELECT' : 'DELETE FROM'} t${n} -- ${'x'.repeat(3_000)}`);
    const verdicts = await Promise.all(texts.map(classify));
    for (const [n, verdict] of verdicts.entries())
      expect(verdict).toMatchObject({ read: n % 2 === 0, statements: [{ text: texts[n] }] });
  });

  it('takes so many long texts of one caller, says of the rest that they were not looked at, and still takes those of others', async () => {
    const long = (n: number) => `SELECT ${n} -- ${'x'.repeat(3_000)}`;
    const many = Array.from({ length: 60 }, (_, n) => sql.classify(long(n), options, 'mallory'));
    const other = sql.classify(long(0), options, 'alice');
    const verdicts = await Promise.all(many);
    expect(verdicts.filter((each) => each.verdict === 'accepted').length).toBeLessThanOrEqual(17);
    expect(verdicts.at(-1)).toMatchObject({ busy: true, reason: 'not understood: too many texts are being classified' });
    expect(await other).toMatchObject({ verdict: 'accepted', read: true });
  });

  it('lets texts that nobody classified wait among those that are to be: they keep nobody else out', async () => {
    const long = (n: number) => `SELECT ${n} -- ${'x'.repeat(3_000)}`;
    const order: string[] = [];
    const many = Array.from({ length: 60 }, (_, n) =>
      sql.redactUnseen(long(n), 'postgresql', 'mallory').then((redacted) => {
        order.push('mallory');
        return redacted;
      }),
    );
    const other = sql.classify(long(0), options, 'alice').then(() => order.push('alice'));
    const redacted = await Promise.all(many);
    await other;
    expect(new Set(redacted)).toEqual(new Set(['SELECT ?', null]));
    expect(redacted.filter((text) => text !== null).length).toBeLessThanOrEqual(17);
    // Those without room are told at once, and the one that ran goes first.
    const refused = redacted.filter((text) => text === null).length;
    expect(order.indexOf('alice')).toBeLessThanOrEqual(refused + 2);
  });
});

describe('the thread of the classifier', () => {
  it('loses only the text that ran over', async () => {
    const thread = createClassifierThread('postgresql', {
      textMs: 2_000,
      startMs: 10_000,
      waitMs: 10_000,
      total: 8,
      perCaller: 8,
    });
    const task = (text: string) => ({ kind: 'classify', text, options }) as const;
    const slow = thread.run(task(`SELECT 1${'+'.repeat(100_000)}1`), 'a');
    const next = thread.run(task('SELECT 1'), 'a');
    expect(await slow).toMatchObject({ ok: false });
    expect(await next).toMatchObject({ ok: true, answer: { verdict: 'accepted' } });
    await thread.close();
    expect(await thread.run(task('SELECT 1'), 'a')).toMatchObject({ ok: false });
  }, 30_000);

  it('does not look any more at what has waited too long', async () => {
    const thread = createClassifierThread('postgresql', { textMs: 2_000, startMs: 10_000, waitMs: 0, total: 8, perCaller: 8 });
    const slow = thread.run({ kind: 'classify', text: `SELECT 1${'+1'.repeat(8_000)}`, options }, 'a');
    const late = thread.run({ kind: 'classify', text: 'SELECT 1', options }, 'a');
    expect(await slow).toHaveProperty('ok');
    expect(await late).toMatchObject({ ok: false, busy: true });
    await thread.close();
  });

  it('says that it is not the text that is to blame when the thread does not start', async () => {
    const thread = createClassifierThread('postgresql', { startMs: 0 });
    expect(await thread.run({ kind: 'classify', text: 'SELECT 1', options }, 'a')).toMatchObject({ ok: false, busy: true });
    await thread.close();
  });

  it('refuses what still waits when the classifier is closed', async () => {
    const other = await createSqlClassifier();
    const waiting = other.classify(`SELECT 1${' '.repeat(5_000)}`, options);
    await other.close();
    expect((await waiting).verdict).toBe('refused');
  });
});
