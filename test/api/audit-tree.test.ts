import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leafHash } from '../../crypto/merkle.js';
import { openCheckpoint } from '../../crypto/signed-note.js';
import { isConsistent, rootByInclusion } from '../../crypto/tree-proof.js';
import { treeText } from '../../domain/audit/signed-texts.js';
import { type Answer, shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';

let api: TestApi;
let hashes: Uint8Array[];
let publicKeyHex: string;
let beforeSealing: Answer;
const bytes = (base64: string) => Uint8Array.from(Buffer.from(base64, 'base64'));
const get = (path: string, token = api.tokens.admin) => api.call('GET', `/api/audit/${path}`, { token });
const refusal = ({ status, body }: Answer) => `${status} ${body.code} ${body.error}`;

beforeAll(async () => {
  api = await startTestApi({ toml: `[audit]\norigin = "shop.example.net/audit"\n${shopToml}` });
  beforeSealing = await get('checkpoint');
  await api.services.database.query(
    `insert into audit_events (id, event_type, event_category, event_version, outcome, actor_id, actor_type, metadata_json, created_at)
     select gen_random_uuid(), 'token.created', 'token', 1, 'success', 'mira', 'user', '{}', '2031-04-05T06:07:08.123456Z' from generate_series(1, 600)`,
  );
  await sealAll(api);
  const rows = await api.services.database.query<{ event_hash: string }>('select event_hash from audit_events order by seq');
  hashes = rows.map(({ event_hash: hash }) => Uint8Array.from(Buffer.from(hash, 'hex')));
  publicKeyHex = [...(await api.services.auditKeys(api.services.database)).trusted.values()][0] as string;
});
afterAll(() => api?.close());

const openNote = (note: string) => openCheckpoint(note, { name: 'shop.example.net/audit', publicKeyHex });

test('the checkpoint is a signed note of the log’s name, size and root (AU-81)', async () => {
  const answer = await get('checkpoint');
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(answer.text).toMatch(/^shop\.example\.net\/audit\n\d+\n[A-Za-z0-9+/]{43}=\n\n— shop\.example\.net\/audit \S+\n$/);
  expect(openNote(answer.text)?.size).toBe(hashes.length);
});

test('before anything is sealed it is that of the empty log, the beginning of every other (AU-81)', () => {
  const root = Buffer.from(openNote(beforeSealing.text)?.root ?? []).toString('hex');
  expect([openNote(beforeSealing.text)?.size, root]).toEqual([0, hash('sha256', '')]);
});

test('each event is proven to be in the log, and each earlier log to be its beginning (AU-80, AU-82)', async () => {
  const newest = openNote((await get('checkpoint')).text);
  for (const seq of [1, 2, 255, 256, 257, 512, hashes.length]) {
    const { body } = await get(`proof?seq=${seq}&size=${hashes.length}`);
    const root = rootByInclusion(seq - 1, hashes.length, leafHash(hashes[seq - 1] as Uint8Array), body.proof.map(bytes));
    expect(Buffer.from(root ?? []).toString('hex')).toBe(Buffer.from(newest?.root ?? []).toString('hex'));
  }
  for (const size of [1, 256, 300, hashes.length]) {
    const { body } = await get(`proof?seq=1&size=${size}`);
    const root = rootByInclusion(0, size, leafHash(hashes[0] as Uint8Array), body.proof.map(bytes)) as Uint8Array;
    const proof = (await get(`proof?from=${size}&to=${hashes.length}`)).body.proof.map(bytes);
    expect(isConsistent({ size, root }, newest as NonNullable<typeof newest>, proof)).toBe(true);
    const [head, ...lines] = (await get(`checkpoint?old=${size}`)).text.split('\n\n')[0]?.split('\n') ?? [];
    expect([head, lines.map((line) => Buffer.from(bytes(line)).toString('hex'))]).toEqual([
      `old ${size}`,
      proof.map((hash: Uint8Array) => Buffer.from(hash).toString('hex')),
    ]);
  }
});

test('tiles hold the hashes of events, and complete ones may be kept by clients (AU-82)', async () => {
  const whole = await fetch(`${api.url}/api/audit/tile/8/0/1`, { headers: { Authorization: `Bearer ${api.tokens.admin}` } });
  expect(whole.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
  const tile = new Uint8Array(await whole.arrayBuffer());
  expect(tile.length).toBe(8192);
  expect(tile.slice(0, 32)).toEqual(leafHash(hashes[256] as Uint8Array));
  for (const path of ['0/002.p/40', '0/2.p/1', '1/000.p/2', '1/0.p/1', '0/001.p/7']) {
    const part = await fetch(`${api.url}/api/audit/tile/8/${path}`, { headers: { Authorization: `Bearer ${api.tokens.admin}` } });
    expect(part.headers.get('cache-control')).toBe('no-store');
    expect((await part.arrayBuffer()).byteLength).toBe(Number(path.split('/').at(-1)) * 32);
  }
});

test('tiles beyond a million stand in groups of three digits, as C2SP writes them (AU-82)', async () => {
  const { database, auditKeys } = api.services;
  const { signer } = await auditKeys(database);
  const head = { seq: 1_234_068 * 256 + 3, treeRoot: 'ab'.repeat(32) };
  const signature = signer?.sign(new TextEncoder().encode(treeText(head)));
  const hashes = (count: number) => Buffer.alloc(count * 32, count).toString('hex');
  await tamper(
    api,
    'create table head_copy as table audit_head',
    `update audit_head set seq = ${head.seq}, tree_root = '${head.treeRoot}', tree_signature = '${signature}'`,
    `insert into audit_tiles values (0, 1234067, 256, '\\x${hashes(256)}'), (0, 1234068, 3, '\\x${hashes(3)}'), (1, 4820, 148, '\\x${hashes(148)}')`,
  );
  const lengthOf = async (path: string) => {
    const answer = await fetch(`${api.url}/api/audit/tile/8/${path}`, {
      headers: { Authorization: `Bearer ${api.tokens.admin}` },
    });
    return answer.status === 200 ? (await answer.arrayBuffer()).byteLength : answer.status;
  };
  try {
    for (const path of ['0/x001/x234/067', '0/1234067']) expect(await lengthOf(path), path).toBe(8192);
    for (const path of ['0/x001/x234/068.p/3', '0/1234068.p/3']) expect(await lengthOf(path), path).toBe(96);
    expect(await lengthOf('1/x004/820.p/148')).toBe(148 * 32);
    for (const path of [
      '0/x001/x234/069',
      '0/x001/x234/068',
      '0/x000/x234/067',
      '0/x001/234/067',
      '0/x001/x234/67',
      '0/x1/x234/067',
    ])
      expect(await lengthOf(path), path).toBe(404);
  } finally {
    await tamper(
      api,
      'delete from audit_head',
      'insert into audit_head select * from head_copy',
      'delete from audit_tiles where index in (1234067, 1234068, 4820)',
    );
  }
});

test('what the log does not have is refused, and bad input names its place (AU-82)', async () => {
  for (const path of [
    '0/2',
    '0/2.p/256',
    '0/2.p/0',
    '0/9',
    '2/0',
    '1/0',
    '64/0',
    '-1/0',
    '0/00',
    '0/x',
    '0/x001/002',
    '0/x001/002.p/3',
    '0/2.q/3',
  ])
    expect((await get(`tile/8/${path}`)).status, path).toBe(404);
  const bad: [string, string][] = [
    ['proof', 'query.seq'],
    ['proof?seq=1&from=1', 'query.seq'],
    ['proof?seq=0', 'query.seq'],
    ['proof?seq=x', 'query.seq'],
    ['proof?seq=1&size=9007199254740993', 'query.size'],
    [`proof?seq=1&size=${hashes.length + 1}`, 'query.size'],
    ['proof?seq=9&size=8', 'query.seq'],
    ['proof?seq=1&to=8', 'query.to'],
    ['proof?from=1&size=8', 'query.size'],
    ['proof?from=9&to=8', 'query.from'],
    ['checkpoint?old=0', 'query.old'],
    [`checkpoint?old=${hashes.length + 1}`, 'query.old'],
  ];
  for (const [path, place] of bad) {
    const answer = await get(path);
    expect([answer.status, answer.body.code, answer.body.hint], path).toEqual([400, 'validation.failed', place]);
  }
});

test('only who reads the audit log of all pairs is answered (AU-81, AU-82)', async () => {
  for (const path of ['checkpoint', 'proof?seq=1', 'tile/8/0/0']) {
    expect((await get(path, api.tokens.requester)).status, path).toBe(403);
    expect((await api.call('GET', `/api/audit/${path}`)).status, path).toBe(401);
  }
});

test('a tree that no audit key signed is neither proven nor signed (AU-81)', async () => {
  const [head] = await api.services.database.query<{ tree_root: string }>('select tree_root from audit_head');
  await api.services.database.query(`update audit_head set tree_root = $1`, ['0'.repeat(64)]);
  for (const path of ['checkpoint', 'proof?seq=1', 'tile/8/0/0'])
    expect(refusal(await get(path))).toBe('503 service.unavailable the audit log cannot be proven');
  await api.services.database.query(`update audit_head set tree_root = $1`, [head?.tree_root]);
  expect((await get('checkpoint')).status).toBe(200);
});

test('proofs for which somebody has removed hashes are refused with the reason (AU-82)', async () => {
  await tamper(api, 'create table kept_tiles as table audit_tiles', 'delete from audit_tiles where level = 0 and index = 0');
  for (const path of ['proof?seq=1', 'proof?from=1', 'checkpoint?old=1'])
    expect(refusal(await get(path))).toBe('503 service.unavailable the audit log cannot be proven');
  await tamper(api, 'insert into audit_tiles select * from kept_tiles on conflict do nothing', 'drop table kept_tiles');
  expect((await get('proof?seq=1')).status).toBe(200);
});
