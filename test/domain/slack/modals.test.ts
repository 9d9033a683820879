import type { ModalView } from '@slack/types';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ShownContext } from '../../../domain/request/context.js';
import type { Modal } from '../../../domain/slack/blocks.js';
import { createModal, pairOf } from '../../../domain/slack/create-modal.js';
import { errorModal, loadingModal } from '../../../domain/slack/modals.js';
import { resultModal } from '../../../domain/slack/result-modal.js';
import { resumeModal } from '../../../domain/slack/resume-modal.js';
import { reviewModal } from '../../../domain/slack/review-modal.js';
import { problemsOfView } from '../../support/slack/block-limits.js';
import { storedRequest } from '../../support/stored-request.js';

/** The type holds modals to Slack's own types of blocks. */
const problems = (modal: Modal): string[] => problemsOfView(modal satisfies ModalView);

const textOf = ({ elements }: Extract<Modal['blocks'][number], { type: 'rich_text' }>): string[] =>
  elements.map((element) => element.elements.map(({ text }) => text).join(''));

/** What a reader sees of a modal, but for its inputs. */
const seen = (modal: Modal): string[] =>
  modal.blocks.flatMap((block) => {
    if (block.type === 'rich_text') return textOf(block);
    if (block.type === 'context') return block.elements.map(({ text }) => text);
    if (block.type !== 'section') return [];
    return 'fields' in block ? block.fields.map(({ text }) => text) : [block.text.text];
  });
const preformattedOf = (modal: Modal): string[] =>
  modal.blocks.flatMap((block) => (block.type === 'rich_text' ? textOf(block) : []));
const inputsOf = (modal: Modal) => modal.blocks.flatMap((block) => (block.type === 'input' ? [block] : []));
const inputOf = (modal: Modal, id: string) => inputsOf(modal).find(({ block_id }) => block_id === id);
const offeredIn = (modal: Modal, id: string): string[] => {
  const element = inputOf(modal, id)?.element;
  return element !== undefined && 'options' in element ? element.options.map(({ value }) => value) : [];
};

const nothing: ShownContext = {
  status: 'unavailable',
  explain_enabled: false,
  tables: null,
  sql_review: null,
  risk: null,
  explain: null,
  schema_snapshot_collected_at: null,
};
const sized = (name: string, estimated_rows = 7) => ({ schema_name: 'public', name, estimated_rows });
const request = { ...storedRequest(), reason: 'a reason' as string | null, metadata: '{}', shareWith: [] as string[] };
const review = (over: Partial<typeof request> = {}, context: Partial<ShownContext> = {}, selectors: string[] = []) =>
  reviewModal({ ...request, ...over }, { context: { ...nothing, ...context }, migrations: null, selectors });

const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 4000 }),
  fc.constantFrom(
    '<!channel>',
    '`'.repeat(3000),
    '&'.repeat(3000),
    '😀'.repeat(3000),
    '',
    ' ',
    '\r\n'.repeat(2000),
    '\ud800\u0000\u202e',
  ),
);
const name = fc.oneof(fc.stringMatching(/^[a-z][a-z0-9_-]{0,62}$/), fc.constant('a'.repeat(63)));

describe('the review of migrations', () => {
  const detail = JSON.stringify({
    format: 'v2',
    direction: 'up',
    versions: ['1', '2', '3'],
    dir_sha256: 'ab',
    migrations: [
      { version: '1', sql: 'create table a (id int)' },
      { version: '2', sql: 'create table b (id int)' },
      { version: '3', sql: 'create index concurrently i on b (id)', transactional: false },
    ],
  });
  const reviewed = (over: Partial<typeof request>, applied: string[] | null) =>
    reviewModal(
      { ...request, detail, reason: null, ...over },
      {
        context: nothing,
        migrations: applied === null ? null : { seen_at: '2026-05-01T08:00:00.000Z', applied },
        selectors: [],
      },
    );

  it('shows the files, not the JSON around them, and folds those that are applied (SL-20, MI-45)', () => {
    const all = seen(reviewed({ operation: 'migrate_up' }, null)).join('\n');
    expect(all).toContain('-- 1\ncreate table a (id int)\n\n-- 2\n');
    expect(all).toContain('-- 3, without a transaction\ncreate index concurrently');
    expect(seen(reviewed({ operation: 'migrate_down' }, null)).join('\n')).toContain('-- 1\ncreate table a');
    const some = seen(reviewed({ operation: 'migrate_up' }, ['1', '2'])).join('\n');
    expect(some).toContain('-- 3, without');
    expect(some).not.toContain('create table');
    expect(some).toContain('2 migrations from 1 to 2 were applied at');
    expect(some).toContain(`svc request show ${request.id} --full`);
    const one = reviewed({ operation: 'migrate_up' }, ['1', '2', '3']);
    expect(preformattedOf(one)).toEqual([]);
    expect(problems(one)).toEqual([]);
  });

  it('shows how many of the files run, and of a revert the latest first (SL-20)', () => {
    const shown = (operation: 'migrate_up' | 'migrate_down', max_count?: number | null) =>
      seen(reviewed({ operation, detail: JSON.stringify({ ...JSON.parse(detail), max_count }) }, null)).join('\n');
    expect(shown('migrate_down', 2)).toContain('reverts the 2 latest applied of 3 files');
    expect(shown('migrate_down', 2)).toMatch(/-- 3, without.*-- 2\n.*-- 1\n/s);
    expect(shown('migrate_up', 2)).toContain('applies what is not applied yet of 3 files, at most 2');
    for (const none of [undefined, null]) expect(shown('migrate_up', none)).not.toContain('at most');
  });

  it('shows a text that is no bundle as it is', () => {
    for (const other of ['[5]', '{}', 'x', 'null'])
      expect(preformattedOf(reviewed({ operation: 'migrate_up', detail: other }, null))).toEqual([other]);
  });
});

describe('every modal', () => {
  it('names the MCP client that asked, as text of a stranger, and none for other requests (MC-44)', () => {
    const metadata = JSON.stringify({ source: 'mcp', client: 'a-model `<!channel>` 1.0' });
    expect(seen(review({ metadata }))).toContain("*Asked by MCP client*\n`a-model '&lt;!channel&gt;' 1.0`");
    for (const other of ['{}', 'null', '[]', '"mcp"', '{"source":"ci","client":"x"}'])
      expect(seen(review({ metadata: other })).join()).not.toContain('MCP');
    expect(problems(review({ metadata: JSON.stringify({ source: 'mcp', client: '&'.repeat(4000) }) }))).toEqual([]);
  });

  it('has no line that a name in the SQL began', () => {
    const forged = 'x\nread_only\r\u2028approved';
    const modal = review(
      {},
      {
        explain: [{ sql: 'select 1', error: `relation "${forged}" does not exist (SQLSTATE 42P01)`, hint: null }],
        risk: { level: 'High', factors: [{ name: 'table_unresolved', tables: [forged] }] },
        tables: [forged, { ...sized(forged), cascade_children: [sized(forged)] }],
        sql_review: { findings: [{ rule: 'drop_table', level: 'Warn', message: `drops ${forged}` }], blocked: false },
      },
    );
    const lines = preformattedOf(modal).flatMap((text) => text.split(/[\n\r\u2028]/));
    expect(lines.filter((line) => /^(read_only|approved)/.test(line))).toEqual([]);
    expect(lines).toContain('table_unresolved: x read_only approved');
  });

  it('names those who get the result besides the requester', () => {
    expect(seen(review()).join()).not.toContain('Shared');
    const shareWith = ['mallory', 'role:requester', ...'abcde'];
    expect(seen(review({ shareWith }))).toContain('*Shared with (7)*\n`mallory, role:requester, a, b, c and 2 more`');
    const many = Array.from({ length: 100 }, (_, at) => `user:${'a'.repeat(120)}${at}`);
    expect(problems(review({ shareWith: many }))).toEqual([]);
  });

  it('is one that Slack takes, whatever stands in it', () => {
    const tables = fc.array(
      fc.oneof(
        hostile,
        hostile.map((text) => ({ ...sized(text), cascade_children: Array(9).fill(sized(text)) })),
      ),
    );
    const explain = fc.array(
      fc.oneof(
        hostile.map((sql) => ({ sql, plan: [sql] })),
        hostile.map((sql) => ({ sql, error: sql, hint: null })),
      ),
    );
    fc.assert(
      fc.property(
        hostile,
        hostile,
        tables,
        explain,
        fc.array(hostile.filter((text) => text !== '')),
        (text, other, named, plans, names) => {
          const context = {
            tables: named,
            explain: plans,
            sql_review: { findings: plans.map(({ sql }) => ({ rule: sql, level: 'Block', message: sql })), blocked: true },
            risk: { level: 'High', factors: [{ name: text, tables: names }] },
          };
          expect(problems(review({ detail: text, reason: other }, context, names))).toEqual([]);
          const result = { requestId: request.id, success: true, rowsAffected: '1', truncated: true };
          expect(problems(resultModal({ ...result, errorMessage: text, data: { start: other, bytes: 9000 } }))).toEqual([]);
          expect(problems(errorModal(`no: ${text}`))).toEqual([]);
          expect(problems(loadingModal('Review request'))).toEqual([]);
          expect(problems(resumeModal(request))).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('of a creation is one that Slack takes, with as many pairs as there are (SL-33)', () => {
    const pairs = fc.uniqueArray(fc.record({ database: name, environment: name }), {
      minLength: 1,
      maxLength: 150,
      selector: (p) => JSON.stringify(p),
    });
    fc.assert(
      fc.property(pairs, (all) => {
        const modal = createModal(all);
        expect(problems(modal)).toEqual([]);
        const expected = all.map(({ database, environment }) => `${database}/${environment}`).sort();
        expect(offeredIn(modal, 'db_env_block')).toEqual(expected.slice(0, 100));
        expect(seen(modal)).toHaveLength(all.length > 100 ? 1 : 0);
        for (const value of expected) {
          const { database, environment } = pairOf(value)!;
          expect(`${database}/${environment}`).toBe(value);
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe('the review modal (SL-20)', () => {
  it('shows the first 2000 characters of the SQL as they are, and says when there are more', () => {
    const sql = 'select `a`, \'<!channel>\', "&amp;" -- *bold* ```\n\n  from t';
    expect(preformattedOf(review({ detail: sql }))).toContain(sql);
    const long = review({ detail: '😀'.repeat(2001) });
    expect(preformattedOf(long)).toContain('😀'.repeat(2000));
    const cut = review({ detail: 'x'.repeat(2001) });
    expect(preformattedOf(cut)).toContain('x'.repeat(2000));
    expect(seen(cut).join()).toContain(`svc request show ${request.id}`);
    expect(seen(review({ detail: 'x'.repeat(2000) })).join()).not.toContain('svc request show');
  });

  const sqlOf = (detail: string, dialect: 'postgresql' | 'mysql' | null = 'postgresql') =>
    preformattedOf(review({ detail, dialect }))[1];

  it('shows by number what would be hidden in the SQL, or look like something else (HD-61)', () => {
    expect(sqlOf('select 1 --\u202e\u200b\u0000')).toBe('select 1 --\\u{202e}\\u{200b}\\u0000');
    for (const hidden of ['\u200d', '\u200c', '\ufe0f', '\u034f', '\u3164', '\u00a0', '\u2800', '\u{e0100}'])
      expect(sqlOf(`delete from t where status <> 'paid${hidden}'`)).toBe(
        `delete from t where status <> 'paid\\u{${hidden.codePointAt(0)!.toString(16)}}'`,
      );
    expect(sqlOf("select '👨‍👩‍👧', 'é', 'Дмитрий'")).toBe("select '👨‍👩‍👧', 'é', 'Дмитрий'");
  });

  it('ends a line of SQL where the database ends it, and nowhere else (HD-61)', () => {
    expect(sqlOf('select 1 -- x\r\ndrop table t\n')).toBe('select 1 -- x\ndrop table t\n');
    expect(sqlOf('select 1 -- x\rdrop table t')).toBe('select 1 -- x\ndrop table t');
    expect(sqlOf('delete from t where a > 0 -- \r and id = 1', 'mysql')).toBe('delete from t where a > 0 -- \\r and id = 1');
    for (const other of ['\u2028', '\u2029', '\u0085'])
      for (const dialect of ['postgresql', 'mysql'] as const)
        expect(sqlOf(`delete from t where a > 0 -- ${other}and id = 1`, dialect)).not.toMatch(/[\n\u0085\u2028\u2029]/);
  });

  it('is one that Slack takes, and says that there is more, when much in the SQL is hidden', () => {
    const modal = review({ detail: '\u200b'.repeat(2000) });
    expect(problems(modal)).toEqual([]);
    expect(preformattedOf(modal)[1]).toHaveLength(2000);
    expect(seen(modal).join()).toContain(`svc request show ${request.id}`);
  });

  it('states the digest of the exact text', () => {
    const approvalDigest = '20c587fe8b0284d20b421a67bb9c028c';
    expect(seen(review({ approvalDigest })).join()).toContain('digest `20c587fe8b02`');
  });

  it('shows plans, risk, tables and findings of the context, the first few of each', () => {
    const many = Array.from({ length: 7 }, (_, n) => n);
    const shown = preformattedOf(
      review(
        {},
        {
          explain: many.map((n) => ({ sql: `select ${n}`, plan: [{ Plan: { 'Total Cost': n } }] })),
          risk: {
            level: 'High',
            factors: [{ name: 'large_table', rows: 9 }, { name: 'triggers', tables: ['a', 'b'] }, { name: 'ddl' }],
          },
          tables: [
            'unknown',
            sized('never', -1),
            { ...sized('t', 12), cascade_children: many.map((n) => ({ ...sized(`c${n}`), depth: 1 })) },
            ...many.map((n) => sized(`t${n}`)),
          ],
          sql_review: { findings: many.map((n) => ({ rule: 'NoWhereDelete', level: 'Block', message: `m${n}` })), blocked: true },
        },
      ),
    );
    const [, , plan, risk, tables, findings] = shown.map((text) => text.split('\n'));
    expect([plan!.length, plan![1], plan!.at(-1)]).toEqual([11, '[{"Plan":{"Total Cost":0}}]', 'and 2 more']);
    expect(risk).toEqual(['High', 'large_table: 9', 'triggers: a, b', 'ddl']);
    expect(tables).toEqual([
      'unknown',
      'public.never',
      'public.t (about 12 rows)',
      ...[0, 1, 2].map((n) => `  deletes also from public.c${n} (about 7 rows)`),
      '  and 4 more',
      'public.t0 (about 7 rows)',
      'public.t1 (about 7 rows)',
      'and 5 more',
    ]);
    expect(findings).toEqual([...many.slice(0, 5).map((n) => `Block NoWhereDelete: m${n}`), 'and 2 more']);
  });

  it('says that a deletion goes on below the tables that are listed', () => {
    const children = [sized('child')];
    const tables = [true, false].map((isCut) => ({
      ...sized('t', 12),
      cascade_children: children,
      cascade_children_truncated: isCut,
    }));
    expect(preformattedOf(review({}, { tables })).at(-1)?.split('\n')).toEqual([
      'public.t (about 12 rows)',
      '  deletes also from public.child (about 7 rows)',
      '  and from tables below these',
      'public.t (about 12 rows)',
      '  deletes also from public.child (about 7 rows)',
    ]);
  });

  it('has at most 2900 characters of plans, and shows that they are cut', () => {
    const plans = Array.from({ length: 5 }, () => ({ sql: 'select 1', plan: 'p'.repeat(2000) }));
    const shown = preformattedOf(review({}, { explain: plans })).at(-1);
    expect([shown?.length, shown?.at(-1)]).toEqual([2900, '…']);
  });

  it('keeps only the id and the step that it shows, and asks for a decision while there is one to make', () => {
    const open = review({ status: 'pending' });
    expect([open.callback_id, open.private_metadata]).toEqual(['svc_review_modal', `${request.id} 0`]);
    expect(inputsOf(open).map(({ block_id, element }) => [block_id, element.action_id])).toEqual([
      ['decision_block', 'decision_input'],
      ['comment_block', 'comment_input'],
    ]);
    expect(offeredIn(open, 'decision_block')).toEqual(['approve', 'reject']);
    const over = review({ status: 'executed' });
    expect([inputsOf(over), over.submit]).toEqual([[], undefined]);
  });

  it('asks which selector when there are several, those that a menu can hold', () => {
    expect(inputOf(review({}, {}, ['group:a']), 'selector_block')).toBeUndefined();
    const long = `group:${'g'.repeat(150)}`;
    expect(offeredIn(review({}, {}, ['group:a', 'user:b', long]), 'selector_block')).toEqual(['group:a', 'user:b']);
    const both = offeredIn(review({}, {}, ['group:a', `group:${'x'.repeat(140)}`]), 'selector_block');
    expect(both).toHaveLength(2);
  });
});

describe('the result modal (SL-21)', () => {
  const result = { requestId: 'r1', success: true, rowsAffected: null, truncated: false, errorMessage: null };
  it('shows the stored text as it is, its size, and how to get the rest', () => {
    const start = '{"b":9007199254740993,"a":1.0,"b":"<x>"}';
    const whole = resultModal({ ...result, data: { start, bytes: 40 } });
    expect(preformattedOf(whole)).toEqual([start]);
    expect(seen(whole).join()).toContain('40 bytes');
    expect(seen(whole).join()).not.toContain('svc request result');
    const cut = resultModal({ ...result, data: { start: 'x'.repeat(2500), bytes: 2501 } });
    expect(preformattedOf(cut)).toEqual(['x'.repeat(2500)]);
    expect(seen(cut).join()).toContain('svc request result r1');
  });

  it('says when there is no data, and shows the error', () => {
    const failed = resultModal({ ...result, success: false, errorMessage: 'ERROR: <no>', data: null });
    expect(preformattedOf(failed)).toEqual(['ERROR: <no>']);
    expect(seen(failed).join()).toContain('No data is stored');
  });
});

describe('pairOf', () => {
  it.each([null, '', 'shop', 'shop/a/b', '/'])('takes %j for no pair, or for one that is not registered', (value) => {
    const pair = pairOf(value);
    expect(pair === null || pair.database === '').toBe(true);
  });
});
