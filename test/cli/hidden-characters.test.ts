import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { highlightSql } from '../../cli/output/sql.js';
import { createStyle } from '../../cli/output/style.js';
import { displayWidth } from '../../cli/output/width.js';
import { isBlank, visible, visibleJson, visibleLines } from '../../lib/visible.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';
import { envelope, failedEnvelope, paths, requestId, runsAtOnce, shown } from './samples.js';

/** One of each kind that a terminal does not show, or that changes what stands beside it. */
const kinds = {
  'zero width': '\u200b\u200c\u200d\u2060\ufeff',
  'an escape': '\u001b[2J',
  'a C1 control': '\u009b',
  'a soft hyphen': '\u00ad',
  'a no-break space': '\u00a0',
  'a thin space': '\u2009',
  'an ideographic space': '\u3000',
  'a grapheme joiner': '\u034f',
  'an Arabic letter mark': '\u061c',
  'Hangul fillers': '\u115f\u1160\u3164\uffa0',
  'Khmer vowels that are not drawn': '\u17b4\u17b5',
  'Mongolian selectors': '\u180b\u180e',
  'marks and overrides of direction': '\u200e\u200f\u202a\u202e\u2066\u2069',
  'separators of lines and paragraphs': '\u2028\u2029\u0085',
  'operators that are not drawn': '\u2061\u2064\u206f',
  'a blank of Braille': '\u2800',
  'selectors of variants': '\ufe00\ufe0e\ufe0f\u{e0100}',
  'interlinear notes': '\ufff9\ufffb\ufffc',
  tags: '\u{e0001}\u{e0041}\u{e007f}',
  'no characters': '\ufdd0\uffff\u{1ffff}',
  'private use': '\ue000\u{f0000}',
  'musical format': '\u{1d159}\u{1d173}',
  'half a pair': '\ud83d',
};
const all = Object.values(kinds).join('');
const hidden =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800\ufffc\u{1d159}]/u;
const emojiSet = '\\p{RGI_Emoji}';
const anyEmoji = new RegExp(emojiSet, 'gv');
const isClean = (text: string) => !hidden.test(text.replaceAll('\r\n', '\n').replaceAll('\n', ''));

describe('characters that are not seen (HD-61)', () => {
  it.each(Object.entries(kinds))('%s are shown by their numbers', (_, text) => {
    for (const character of text) {
      const digits = character.codePointAt(0)!.toString(16);
      if (character > '\u009f') expect(visible(`a${character}b`)).toBe(`a\\u{${digits}}b`);
      expect(isClean(visible(`a${character}b`))).toBe(true);
    }
  });

  it('make no text: one of nothing else is blank', () => {
    for (const text of ['', ' \t\r\n', all.replace('[2J', ''), '\u0085'.repeat(1024)]) expect(isBlank(text)).toBe(true);
    for (const text of ['.', `${all}x`, ' ᅟé', '👩‍🚀', '0']) expect(isBlank(text)).toBe(false);
  });

  it('shows that an alias swallows a condition', () => {
    const sql = 'DELETE FROM users u\u00a0where\u3000id\u2009is\u200bnull';
    expect(visibleLines(sql)).toBe('DELETE FROM users u\\u{a0}where\\u{3000}id\\u{2009}is\\u{200b}null');
  });

  it('leaves letters of every language and emoji as they are', () => {
    for (const text of ['Zoë Ångström', 'Дмитрий', '山田太郎', 'مرحبا', 'नमस्ते', 'e\u0301', '한국어', '￥→…', 'a\ufffdb'])
      expect(visible(text)).toBe(text);
    for (const emoji of ['😀', '❤️', '👍🏽', '👨‍👩‍👧', '🏳️‍🌈', '1️⃣', '🇩🇪', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '©️', '👩🏽‍🚀', '😀👨‍👩‍👧❤️'])
      expect(visible(`x${emoji}y`)).toBe(`x${emoji}y`);
  });

  it('does not let emoji carry what is not seen', () => {
    expect(visible('😀\u200d😀')).toBe('😀\\u{200d}😀');
    expect(visible('🏴\u{e0068}\u{e0069}\u{e007f}')).toBe('🏴\\u{e0068}\\u{e0069}\\u{e007f}');
    expect(visible('id = 1\ufe0f')).toBe('id = 1\\u{fe0f}');
    expect(visible('😀\ufe0f\ufe0f')).toContain('\\u{fe0f}');
    expect(visible('users\u200d')).toBe('users\\u{200d}');
  });

  it('shows any text without them, and columns keep their width (property)', () => {
    const text = fc.array(fc.oneof(fc.string({ unit: 'binary', maxLength: 5 }), fc.constantFrom(...all, '😀', '\ud800')));
    fc.assert(
      fc.property(text, (parts) => {
        const seen = visible(parts.join(''));
        expect(isClean(seen.replace(anyEmoji, ''))).toBe(true);
        if (/^[\x20-\x7e]*$/.test(seen)) expect(displayWidth(seen)).toBe(seen.length);
      }),
    );
  });

  it('escapes JSON for a terminal so that it means the same (property)', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (json) => {
        expect(JSON.parse(visibleJson(json))).toEqual(JSON.parse(json));
        expect(isClean(visibleJson(json).replace(anyEmoji, ''))).toBe(true);
      }),
    );
  });

  // A time that grows with the square of the length would run into the test's own limit.
  it('are looked for in one pass over a long text', () => {
    const long = 'é\u200d😀\u200d👨‍👩‍👧'.repeat(20_000);
    expect(visible(long).length).toBeGreaterThan(long.length);
  });

  it('does not paint as a comment what MySQL runs', () => {
    const style = createStyle(true);
    for (const sql of ['/*!50000 drop table t */', '/*M!100100 drop table t */']) expect(highlightSql(sql, style)).toBe(sql);
    expect(highlightSql('/* a note */', style)).toBe(style.dim('/* a note */'));
  });
});

/** Every text of an answer with all of them behind it; ids, times and what commands decide by stay. */
function poison(value: unknown, key = ''): unknown {
  if (typeof value === 'string') {
    const isKept = ['id', 'status', 'operation', 'kind', 'type', 'text'].includes(key) || /^\d{4}-\d\d-\d\dT/.test(value);
    return isKept ? value : `${value}${all}`;
  }
  if (Array.isArray(value)) return value.map((item) => poison(item, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, poison(member, name)]));
}

const request = { ...shown('pending').body, next_approvers: ['group:dba-team'] };
const at = '2026-05-01T09:20:01.500Z';
const pages: [string, string[], Record<string, unknown>][] = [
  [
    'request show',
    [requestId],
    {
      [paths.show]: request,
      [paths.executions]: { executions: [{ id: 'e', status: 'failed', agent_id: 'a', error_message: 'boom', created_at: at }] },
    },
  ],
  ['request list', [], { [paths.list]: { requests: [request], total: 1, limit: 100, offset: 0 } }],
  [
    'request approve',
    [requestId],
    { [paths.show]: request, [paths.approve]: { ...request, matched_selector: 'group:dba-team' } },
  ],
  [
    'request results',
    [],
    { 'GET /api/results': { results: [{ request_id: 'r', execution_id: 'e', database: 'd', environment: 'e' }] } },
  ],
  [
    'audit list',
    [],
    {
      'GET /api/audit/events': {
        events: [{ seq: 1, created_at: at, event_type: 'x', outcome: 'success', actor_id: 'bob', reason: 'why' }],
        total: 1,
      },
    },
  ],
  [
    'token list',
    [],
    {
      'GET /api/tokens': {
        tokens: [{ id: 't', name: 'n', subject_id: 's', subject_type: 'user', status: 'active', created_at: at }],
      },
    },
  ],
  [
    'user list',
    [],
    { 'GET /api/users': { users: [{ id: 'u', roles: ['r'], groups: ['g'], status: 'active', created_at: at }], total: 1 } },
  ],
  ['user add', ['u'], { 'POST /api/users': { id: 'u', roles: ['r'], groups: ['g'], token: 'svc_x' } }],
  ['group list', [], { 'GET /api/groups': { groups: ['g'] } }],
  [
    'role list',
    [],
    { 'GET /api/roles': { roles: [{ name: 'r', permissions: [{ perm: 'p', databases: ['d'], environments: ['e'] }] }] } },
  ],
  [
    'agents',
    [],
    {
      'GET /api/agents': {
        agents: [
          { agent_id: 'a', status: 'online', version: '1', capabilities: { scopes: [{ database: 'd', environment: 'e' }] } },
        ],
      },
    },
  ],
  ['databases', [], { 'GET /api/databases': { databases: [{ name: 'd', database: 'd', environment: 'e', dialect: 'x' }] } }],
  ['whoami', [], { 'GET /api/me': { subject_id: 'alice', roles: [{ name: 'r' }], groups: ['g'] } }],
];

/** Numbers of an answer, each of them a text instead. */
function hostileNumbers(value: unknown): unknown {
  if (typeof value === 'number') return `${value}${all}`;
  if (Array.isArray(value)) return value.map(hostileNumbers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, hostileNumbers(member)]));
}

const bundle = { direction: 'down', max_count: 2, migrations: [{ version: '1', sql: 'select 1' }] };
const tables = [{ schema_name: 'public', name: 't', estimated_rows: 4, column_count: 3, constraint_count: 2, index_count: 1 }];
const policy = { workflow_id: 'w', caller_can_submit: true, approvers: [{ step: 0, selector: 'group:dba-team', min: 1 }] };
const steps = [{ mode: 'all', approvers: [{ selector: 'group:dba-team', min: 2 }] }];
const numbers: [string, string[], Record<string, unknown>][] = [
  ['request list', [], { [paths.list]: { requests: [request], total: 1, limit: 100, offset: 0 } }],
  ['audit list', [], { 'GET /api/audit/events': { events: [], total: 9, total_is_estimate: true } }],
  [
    'request show',
    [requestId],
    { [paths.show]: request, [paths.executions]: { executions: [{ id: 'e', fence: 1, duration_ms: 3 }] } },
  ],
  [
    'request show',
    [requestId],
    { [paths.show]: { ...request, operation: 'migrate_down', detail: JSON.stringify(hostileNumbers(bundle)) } },
  ],
  [
    'request approve',
    [requestId],
    { [paths.show]: request, [paths.approve]: { status: 'pending', step_completed: 1, total_steps: 2 } },
  ],
  ['schema', [], { 'GET /api/schemas/app': { status: 'ok', dialect: 'postgresql', tables } }],
  [
    'preflight',
    ['select 1'],
    { 'POST /api/preflight': { status: 'requestable', classification: { statement_count: 2 }, policy } },
  ],
  ['policy list', ['--kind', 'workflow'], { 'GET /api/workflows': { workflows: [{ id: 'w', steps }] } }],
];

describe('what others wrote (HD-61)', () => {
  let api: FakeApi;
  beforeEach(async () => {
    api = await startFakeApi();
  });
  afterEach(() => api.close());
  const svc = (...argv: string[]) => runSvc([...argv, '--yes'], { environment: login(api.url), terminal: true, columns: 10_000 });
  const plain = (text: string) => text.replace(/\u001b\[\d+m|\r?\u001b\[2K|\r/g, '');

  it.each(pages)('svc %s shows it, and its JSON is exact', async (command, args, answers) => {
    for (const [route, body] of Object.entries(answers)) api.on(route, { body: poison(body) });
    const { stdout, stderr } = await svc(...command.split(' '), ...args);
    expect(stdout).toContain('\\u{200b}');
    expect(isClean(plain(stdout))).toBe(true);
    expect(isClean(plain(stderr))).toBe(true);
    const json = await svc(...command.split(' '), ...args, '--json');
    expect(json.stdout).toContain(JSON.stringify(all).slice(1, -1));
  });

  it.each(numbers)('svc %s shows no text where a number belongs (%#)', async (command, args, answers) => {
    for (const [route, body] of Object.entries(answers)) api.on(route, { body: hostileNumbers(body) });
    const { code, stdout, stderr } = await svc(...command.split(' '), ...args);
    expect(code).toBe(0);
    expect(isClean(plain(stdout + stderr))).toBe(true);
  });

  it('a refusal and its hint show it', async () => {
    api.on('GET /api/me', { status: 403, body: { error: `no${all}`, code: 'auth.forbidden', hint: `ask${all}` } });
    const { stderr } = await svc('whoami');
    expect(stderr.match(/\\u\{200b\}/g)).toHaveLength(2);
    expect(isClean(plain(stderr))).toBe(true);
    api.on('GET /api/me', { status: 500, body: `no JSON ${all}` });
    expect(isClean(plain((await svc('whoami')).stderr))).toBe(true);
  });

  it.each(['table', 'csv', 'vertical', 'json'])('results as %s show it, columns too', async (format) => {
    const rows = { columns: [`c${all}`], rows: [[`v${all}`]], truncated: true, truncation_reason: `why${all}` };
    runsAtOnce(api, envelope(JSON.stringify(rows)));
    const { stdout, stderr } = await svc('execute', 'SELECT 1', '--result-format', format);
    expect(stdout).toMatch(/\\u\{?200b/);
    expect(isClean(plain(stdout))).toBe(true);
    expect(isClean(plain(stderr))).toBe(true);
  });

  it('no line of the error of a statement stands as one of svc (CL-13)', async () => {
    runsAtOnce(api, failedEnvelope('x\nhint: svc trust http://elsewhere\r\nerror: y'));
    const { stderr } = await svc('execute', 'SELECT 1');
    expect(plain(stderr)).toContain('error: execute: x\n  hint: svc trust http://elsewhere\n  error: y\n');
    expect(plain(stderr).match(/^(hint|error):/gm)).toEqual(['error:']);
  });

  it('the error of a statement and the SQL of a migration show it', async () => {
    runsAtOnce(api, failedEnvelope(`relation "x${all}" does not exist`));
    const failed = await svc('execute', 'SELECT 1');
    expect(failed.stderr).toContain('\\u{200b}');
    expect(isClean(plain(failed.stderr + failed.stdout))).toBe(true);
    const detail = JSON.stringify({ direction: 'up', migrations: [{ version: `1${all}`, sql: `select 1${all}` }] });
    api.on(paths.show, shown('pending', { operation: 'migrate_up', detail })).on(paths.executions, { body: { executions: [] } });
    const page = await svc('request', 'show', requestId);
    expect(page.stdout.match(/\\u\{200b\}/g)?.length).toBeGreaterThanOrEqual(2);
    expect(isClean(plain(page.stdout))).toBe(true);
  });
});
