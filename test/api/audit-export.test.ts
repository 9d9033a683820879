import { parse } from 'node:querystring';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventHash } from '../../crypto/audit-hash.js';
import { verifySignature } from '../../crypto/ed25519.js';
import { insertAuditEvents } from '../../db/audit.js';
import { exportPages, readExportSpan } from '../../db/audit-export.js';
import { type AuditDraft, systemActor } from '../../domain/audit/draft.js';
import { auditEventKeys, type SealedEvent } from '../../domain/audit/event.js';
import type { Manifest } from '../../domain/audit/export-format.js';
import { exportText } from '../../domain/audit/signed-texts.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';
import { builtinRole } from '../support/callers.js';
import { databaseToml } from '../support/toml.js';

const toml = `${shopToml}${databaseToml('lab', ['staging'])}
[[auth.roles]]
name = "shop-auditor"
permissions = ["audit.read"]
databases = ["shop"]
environments = ["production"]
`;
const hostile = [
  '=1+1',
  '+1',
  '-1',
  '@x',
  '\tx',
  "'=1",
  '"quoted", and\r\nbroken',
  'a\u2028b\u2029c\u0085d',
  '#x',
  '',
  '🚫',
  '{"manifest":{}}',
];

let api: TestApi;
let auditor: string;

beforeAll(async () => {
  api = await startTestApi({ toml });
  auditor = await api.createUser('anna', { roles: ['shop-auditor'] });
  for (const database of ['shop', 'lab', 'shop'])
    for (const environment of ['staging', 'production'])
      await api.services.database.transaction((tx) =>
        insertAuditEvents(tx, hostile.map(draft), { ...nothing, database, environment, operation: 'execute_dml' }),
      );
  await sealAll(api);
});
afterAll(() => api?.close());

const nothing = { requestId: null, detailFingerprint: null, detailRaw: null };
const draft = (reason: string): AuditDraft => ({
  type: 'request.rejected',
  outcome: 'denied',
  actor: systemActor,
  resourceType: 'request',
  resourceId: reason,
  reason,
  metadata: { comment: reason },
});

const get = (query = '', token = api.tokens.admin) => api.call('GET', `/api/audit/export${query}`, { token });

/** An export in NDJSON, read the way any client reads it. */
async function read(query = '', token = api.tokens.admin) {
  const answer = await get(query, token);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
  const lines = answer.text.split('\n');
  expect(lines.pop()).toBe('');
  const { manifest } = JSON.parse(lines.pop()!) as { manifest: Manifest };
  return { lines, events: lines.map((line) => JSON.parse(line) as SealedEvent), manifest };
}

const sealedNow = () =>
  api.services.database.query<SealedEvent>(
    `select ${auditEventKeys.join(', ')} from audit_events where seq is not null order by seq`,
  );

function checkManifest(manifest: Manifest, events: readonly SealedEvent[]) {
  const [first, last] = [events[0] ?? null, events.at(-1) ?? null];
  const stated = {
    firstSeq: first?.seq ?? null,
    lastSeq: last?.seq ?? null,
    count: events.length,
    lastHash: last?.event_hash ?? null,
  };
  expect(manifest).toMatchObject({
    first_seq: stated.firstSeq,
    last_seq: stated.lastSeq,
    count: stated.count,
    last_hash: stated.lastHash,
  });
  expect(verifySignature(manifest.public_key, Buffer.from(exportText(stated)), manifest.signature)).toBe(true);
}

describe('NDJSON (AU-62)', () => {
  it('holds all sealed events, oldest first, with the stored texts, then a signed manifest', async () => {
    await api.createUser('unsealed');
    const { events, manifest, lines } = await read();
    expect(events).toEqual(await sealedNow());
    expect(Object.keys(events[0]!)).toEqual([...auditEventKeys]);
    expect(Object.keys(manifest)).toEqual([
      'first_seq',
      'last_seq',
      'count',
      'last_hash',
      'filters',
      'public_key',
      'key_id',
      'signature',
    ]);
    expect(manifest.filters).toEqual({});
    checkManifest(manifest, events);
    for (const line of lines) expect(line).not.toMatch(/[\u0085\u2028\u2029]/);
  });

  it('its hashes can be recomputed (AU-I9)', async () => {
    const { events } = await read();
    let prev: string | null = null;
    for (const event of events) {
      expect([event.prev_hash, event.event_hash]).toEqual([prev, eventHash(event)]);
      prev = event.event_hash;
    }
  });

  it('has the filters of a search, and names them (AU-60)', async () => {
    const all = await sealedNow();
    const middle = all[20]!.created_at;
    const cases: [string, (event: SealedEvent) => boolean][] = [
      ['database=lab', (event) => event.database_name === 'lab'],
      ['environment=production&database=shop', (event) => event.environment === 'production' && event.database_name === 'shop'],
      ['event_type=user.created', (event) => event.event_type === 'user.created'],
      ['event_category=approval&outcome=denied', (event) => event.event_category === 'approval' && event.outcome === 'denied'],
      ['actor_id=nobody', () => false],
      [`until=${middle}`, (event) => event.created_at <= middle],
      [`since=${middle}&operation=execute_dml`, (event) => event.created_at >= middle && event.operation === 'execute_dml'],
    ];
    for (const [query, passes] of cases) {
      const { events, manifest } = await read(`?${query}`);
      expect(events).toEqual(all.filter(passes));
      expect(manifest.filters).toEqual({ ...parse(query) });
      checkManifest(manifest, events);
    }
  });

  it('a role limited to some pairs sees only events of these', async () => {
    const { events, manifest } = await read('', auditor);
    expect(events.length).toBeGreaterThan(0);
    expect(events).toEqual(
      (await sealedNow()).filter((event) => event.database_name === 'shop' && event.environment === 'production'),
    );
    checkManifest(manifest, events);
    expect((await read('?database=lab', auditor)).events).toEqual([]);
    expect((await get('', api.tokens.requester)).status).toBe(403);
  });

  it('refuses another format and bad times', async () => {
    for (const query of ['?format=xml', '?format=', '?since=yesterday', '?until=2031-01-01T00:00:00+00:00'])
      expect(await get(query)).toMatchObject({ status: 400, body: { code: 'validation.failed' } });
  });
});

describe('CSV (AU-62)', () => {
  it('has a header, every text in one cell, nothing that a spreadsheet calculates, and the manifest behind #', async () => {
    const answer = await get('?format=csv&operation=execute_dml');
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [header, ...rows] = parseCsv(answer.text.slice(0, answer.text.lastIndexOf('#')));
    expect(header).toEqual([...auditEventKeys]);
    const expected = (await sealedNow()).filter(({ operation }) => operation === 'execute_dml');
    expect(rows.length).toBe(expected.length);
    for (const [at, row] of rows.entries())
      for (const [place, key] of auditEventKeys.entries()) {
        const text = String(expected[at]![key] ?? '');
        expect(row[place]).toBe(/^[=+\-@\t]/.test(text) ? `'${text}` : text);
        expect(row[place]).not.toMatch(/^[=+\-@\t]/);
      }
    const { manifest } = JSON.parse(answer.text.slice(answer.text.lastIndexOf('#') + 1)) as { manifest: Manifest };
    checkManifest(manifest, expected);
  });
});

/** RFC 4180. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === '\r\n') rows.push([]);
  }
  return rows.slice(0, -1);
}

describe('the event of an export', () => {
  const exported = async () =>
    (await api.call('GET', '/api/audit/events?event_type=audit.exported&limit=1', { token: api.tokens.admin })).body.events[0];

  it('names filters and count, and stands when the manifest does', async () => {
    const { manifest } = await read('?database=lab');
    const event = await exported();
    expect(event).toMatchObject({ event_category: 'policy', outcome: 'info', actor_id: 'admin', resource_type: 'audit' });
    const { auth_token_id: _, ...metadata } = JSON.parse(event.metadata_json);
    expect(metadata).toEqual({ filters: { database: 'lab' }, count: manifest.count });
  });

  it('that cannot be written does not change the answer (AU-11)', async () => {
    await read('?database=lab');
    const before = (await exported()).id;
    await tamper(api, `alter table audit_events add constraint refused check (event_type <> 'audit.exported') not valid`);
    try {
      expect((await read()).events.length).toBeGreaterThan(0);
      expect((await exported()).id).toBe(before);
    } finally {
      await tamper(api, 'alter table audit_events drop constraint refused');
    }
  });
});

describe('a long export', () => {
  const many = 3000;
  beforeAll(async () => {
    const text = 'x'.repeat(10_000);
    await tamper(
      api,
      `insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type, detail_raw, operation)
       select gen_random_uuid(), 'preflight.attempted', 'preflight', 'success', 'bulk', 'user', '${text}', 'bulk' from generate_series(1, ${many})`,
    );
    await sealAll(api);
  }, 60_000);

  const transactions = () =>
    api.services.database.query(
      `select state, query from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`,
    );

  const patient = { timeout: 10_000 };
  /** Those that have ended. */
  const exports = async () =>
    (await api.services.database.query("select 1 from audit_events where event_type = 'audit.exported'")).length;

  it('holds no transaction for a caller who reads slowly, and ends when that caller has gone', async () => {
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${api.tokens.admin}` };
    const answer = await fetch(`${api.url}/api/audit/export?actor_id=bulk`, { headers, signal: gone.signal });
    const reader = answer.body!.getReader();
    await reader.read();
    await vi.waitFor(async () => expect(await transactions()).toEqual([]), { timeout: 5000 });
    gone.abort();
    await vi.waitFor(async () => {
      const query = '/api/audit/events?event_type=audit.exported&limit=1';
      const [event] = (await api.call('GET', query, { token: api.tokens.admin })).body.events;
      const { count, filters } = JSON.parse(event.metadata_json);
      expect(filters).toEqual({ actor_id: 'bulk' });
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThan(many);
    }, patient);
  });

  const slowly = (token: string, signal: AbortSignal) =>
    fetch(`${api.url}/api/audit/export?actor_id=bulk`, { headers: { authorization: `Bearer ${token}` }, signal });
  /** Of users who may read all. */
  const readers = async (names: string[]) => Object.values(await api.createUsers(admins(names)));
  const admins = (names: string[]) => Object.fromEntries(names.map((name) => [name, { roles: ['admin'] }]));

  it('is refused when four others run, two of them at most of one user, and served when one of them has ended (AU-62)', async () => {
    const [rita, rolf] = (await readers(['rita', 'rolf'])) as [string, string];
    const gone = Array.from({ length: 4 }, () => new AbortController());
    const before = await exports();
    const begin = async (token: string, { signal }: AbortController) => (await slowly(token, signal)).body!.getReader().read();
    for (const index of [0, 1]) await begin(rita, gone[index]!);
    const third = await api.call('GET', '/api/audit/export', { token: rita });
    expect([third.status, third.body.code, third.body.error]).toEqual([
      503,
      'service.unavailable',
      '2 exports of yours run already',
    ]);
    expect((await get('?database=lab')).status).toBe(200);
    for (const index of [2, 3]) await begin(rolf, gone[index]!);
    expect(await get()).toMatchObject({ status: 503, body: { error: '4 exports run already' } });
    for (const each of gone) each.abort();
    await vi.waitFor(async () => expect((await get('?database=lab')).status).toBe(200), patient);
    await vi.waitFor(async () => expect(await exports()).toBeGreaterThanOrEqual(before + 6), patient);
  });

  it('runs four times at most when many ask at the same moment (AU-62)', async () => {
    const tokens = await readers(['one', 'two', 'three', 'four']);
    const gone = new AbortController();
    const before = await exports();
    const begins = async (token: string) => {
      const answer = await slowly(token, gone.signal);
      return answer.status === 200 && !(await answer.body!.getReader().read()).done;
    };
    // One that finds no place after its status was sent is broken off.
    const asked = [...tokens, ...tokens, ...tokens];
    const began = await Promise.all(asked.map((token) => begins(token).catch(() => false)));
    gone.abort();
    expect(began.filter(Boolean)).toHaveLength(4);
    await vi.waitFor(async () => expect((await get('?database=lab')).status).toBe(200), patient);
    await vi.waitFor(async () => expect(await exports()).toBeGreaterThanOrEqual(before + 5), patient);
  });

  it.each([
    ['the token is revoked', (user: string) => `update tokens set revoked_at = now() where subject_id = '${user}'`],
    ['the user is suspended', (user: string) => `update users set status = 'suspended' where id = '${user}'`],
    ['the role is gone', (user: string) => `update users set roles = '{requester}' where id = '${user}'`],
    ['only some pairs are left', (user: string) => `update users set roles = '{shop-auditor}' where id = '${user}'`],
  ])('breaks off without a manifest when %s in between', async (what, end) => {
    const user = `reader-${what.replaceAll(' ', '-')}`;
    const token = await api.createUser(user, { roles: ['admin', 'shop-auditor'] });
    const answer = await fetch(`${api.url}/api/audit/export?actor_id=bulk`, { headers: { authorization: `Bearer ${token}` } });
    const reader = answer.body!.getReader();
    let text = new TextDecoder().decode((await reader.read()).value);
    await tamper(api, end(user));
    const rest = async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) text += new TextDecoder().decode(part.value);
    };
    await expect(rest()).rejects.toThrow();
    expect(text).not.toContain('manifest');
    expect(text.split('\n').length).toBeLessThan(many);
  });

  it('breaks off without a manifest when the database goes away in between, and the log says so', async () => {
    const { database } = api.services;
    const original = database.query;
    let reads = 0;
    database.query = async (text, values) => {
      reads += text.includes('limit 250') ? 1 : 0;
      if (reads === 3) throw new Error('away');
      return original(text, values);
    };
    try {
      const headers = { authorization: `Bearer ${api.tokens.admin}` };
      const answer = await fetch(`${api.url}/api/audit/export?actor_id=bulk`, { headers });
      await expect(answer.text()).rejects.toThrow();
      expect(api.logged.filter((line) => line.includes('answer broken off')).length).toBeGreaterThan(0);
    } finally {
      database.query = original;
    }
  });

  it('does not go on beside a purge that has overtaken it', async () => {
    const { database } = api.services;
    const span = await readExportSpan(database);
    const pages = exportPages(database, span, { roles: [builtinRole('admin')], filters: {} });
    expect((await pages.next()).value).toHaveLength(250);
    const purge = (seq: number) => tamper(api, `delete from audit_events where seq <= ${seq}`);
    await tamper(api, 'create table kept_events as select * from audit_events where seq <= 600');
    try {
      await purge(250);
      expect((await pages.next()).value).toHaveLength(250);
      await purge(600);
      await expect(pages.next()).rejects.toThrow('purge');
    } finally {
      await tamper(
        api,
        'insert into audit_events overriding system value select * from kept_events on conflict do nothing',
        'drop table kept_events',
      );
    }
  });
});
