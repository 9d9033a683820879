import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readArray } from '../../agent/drivers/postgres/array.js';
import { planProblem } from '../../agent/drivers/postgres/read-plan.js';
import { effectiveTimeout } from '../../agent/execute.js';
import { createLog } from '../../agent/log.js';
import { decideByMarkers, laterFence, type MarkerRow, sortMarkers } from '../../agent/marker.js';
import { cutErrorText } from '../../agent/outcome.js';

const row = (fence: number, mode: string, state: string): MarkerRow => ({
  fence,
  step: '',
  mode,
  state,
  rowsAffected: 3,
  executionId: `e${fence}`,
  approvalDigest: 'd',
});

describe('marker decision (AP-54)', () => {
  it.each([
    ['no rows', [], { act: 'run' }],
    ['a row of one migration, which is no word about the whole', [{ ...row(1, 'tx', 'done'), step: 'v1' }], { act: 'run' }],
    ['an unresolved attempt that is done', [row(1, 'tx', 'done')], { act: 'already_applied', fence: 1, rowsAffected: 3 }],
    ['my own attempt that is done', [row(3, 'tx', 'done')], { act: 'already_applied', fence: 3, rowsAffected: 3 }],
    ['a done attempt that is settled', [row(2, 'tx', 'done')], { act: 'run' }],
    ['an unresolved attempt left open outside a transaction', [row(1, 'auto', 'open')], { act: 'unknown', fence: 1 }],
    ['an unresolved attempt left open in a transaction', [row(1, 'tx', 'open')], { act: 'run' }],
  ])('decides for %s', (_, rows, decision) => {
    expect(decideByMarkers(rows, 3, [1])).toEqual(decision);
  });
});

describe('which marker rows count (HD-41)', () => {
  const known = {
    fence: 3,
    executionId: 'e3',
    approvalDigest: 'd',
    unresolvedFences: [1],
    unresolvedExecutions: [{ fence: 1, executionId: 'e1' }],
  };
  const kept = (one: MarkerRow, of = known) => sortMarkers([one], of).genuine.length === 1;

  it.each<[string, MarkerRow, boolean]>([
    ['my own', row(3, 'tx', 'done'), true],
    ['an unresolved one', row(1, 'auto', 'open'), true],
    ['my fence, another execution', { ...row(3, 'tx', 'done'), executionId: 'e1' }, false],
    ['an unresolved fence, another execution', { ...row(1, 'tx', 'done'), executionId: 'e3' }, false],
    ['another digest', { ...row(1, 'tx', 'done'), approvalDigest: 'x' }, false],
    ['a fence that is settled', row(2, 'tx', 'done'), false],
    ['a later fence', row(4, 'tx', 'done'), false],
    ['a state that nobody writes', row(1, 'tx', 'DONE'), false],
    ['a mode that nobody writes', row(1, '', 'done'), false],
    ['a fence that is none', row(Number.NaN, 'tx', 'done'), false],
  ])('%s', (_, one, counts) => {
    expect(kept(one)).toBe(counts);
  });

  it('without the executions, from an older gateway, fence and digest tell', () => {
    const older = { ...known, unresolvedExecutions: null } as unknown as typeof known;
    expect(kept({ ...row(1, 'tx', 'done'), executionId: 'any' }, older)).toBe(true);
    expect(kept({ ...row(1, 'tx', 'done'), approvalDigest: 'x' }, older)).toBe(false);
    expect(kept({ ...row(3, 'tx', 'done'), executionId: 'any' }, older)).toBe(false);
  });

  it('a later attempt is looked for among the others', () => {
    expect([laterFence([row(2, 'tx', 'done')], 3), laterFence([row(9, '', ''), row(4, 'tx', 'done')], 3)]).toEqual([null, 9]);
  });
});

describe('array texts', () => {
  it('reads back every array that PostgreSQL can write', () => {
    const element = fc.option(fc.string({ unit: 'binary', maxLength: 8 }));
    fc.assert(
      fc.property(fc.array(fc.array(element, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }), (rows) => {
        const quoted = (one: string | null) => (one === null ? 'NULL' : `"${one.replace(/["\\]/g, '\\$&')}"`);
        const text = `{${rows.map((items) => `{${items.map(quoted).join(',')}}`).join(',')}}`;
        expect(JSON.parse(readArray(text, ',', JSON.stringify) ?? '')).toEqual(rows);
      }),
    );
  });

  it('keeps what it cannot read', () => {
    for (const text of ['', '[0:1]={1,2}', '{1,2', '{1}x', '{"a']) expect(readArray(text, ',', (one) => one)).toBeNull();
  });
});

describe('plan check (AP-28)', () => {
  it.each([
    ['[{"Plan":{"Node Type":"Result"}}]', null],
    [
      '[{"Plan":{"Node Type":"Append","Plans":[{"Node Type":"ModifyTable","Operation":"Insert"}]}}]',
      'the plan has a ModifyTable node',
    ],
    ['[{"Plan":{"Node Type":"LockRows"}}]', 'the plan has a LockRows node'],
    ['[{"Plan":{"Node Type":"Foreign Scan","Operation":"Delete"}}]', 'the plan has the operation Delete'],
    ['[{"Plan":{"Node Type":"Foreign Scan","Operation":"Select"}}]', null],
    ['nothing', 'the plan is not readable'],
  ])('judges %s', (plan, problem) => {
    expect(planProblem(plan)).toBe(problem);
  });
});

describe('small rules', () => {
  it('bounds every timeout by the maximum of the agent, no limit too (AP-20)', () => {
    expect([
      effectiveTimeout(30, 0),
      effectiveTimeout(0, 0),
      effectiveTimeout(0, 20),
      effectiveTimeout(30, 20),
      effectiveTimeout(10, 20),
    ]).toEqual([30, 0, 20, 20, 10]);
  });

  it('cuts error texts on a character boundary (AP-41)', () => {
    fc.assert(
      fc.property(fc.nat(5000), (length) => {
        const text = 'x'.repeat(length % 4) + 'ä😀'.repeat(length);
        const cut = cutErrorText(text);
        expect(text.startsWith(cut)).toBe(true);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(4096);
        if (cut !== text) expect(Buffer.byteLength(cut)).toBeGreaterThan(4092);
      }),
      { numRuns: 50 },
    );
  });

  it('writes one line per message, as text or JSON', () => {
    const lines: string[] = [];
    createLog({ level: 'info', format: 'text' }, (line) => lines.push(line)).warn('two\nlines', { a: 'x y', b: 1 });
    createLog({ level: 'info', format: 'json' }, (line) => lines.push(line)).info('m', { a: null });
    createLog({ level: 'error', format: 'text' }, (line) => lines.push(line)).warn('unseen');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/ warn {2}two lines a="x y" b=1$/);
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ level: 'info', message: 'm', a: null });
  });

  it.each(['text', 'json'] as const)(
    'lets no text of a database steer the terminal or end the line of a %s log (OP-92)',
    (format) => {
      const lines: string[] = [];
      const why = 'type "\u009b2J\u202egnp\u2028\u0085\u007f" does not exist';
      createLog({ level: 'info', format }, (line) => lines.push(line)).info(`m\u202e\u009b`, { why });
      expect(lines.join()).toMatch(/^[\x20-\x7e]*$/);
      expect(lines[0]).toContain('\\u009b2J\\u202egnp\\u2028\\u0085\\u007f');
    },
  );
});
