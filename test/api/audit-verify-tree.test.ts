import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { readCheckpoint } from '../../crypto/signed-note.js';
import { treeText } from '../../domain/audit/signed-texts.js';
import { purgeAuditEvents } from '../../worker/purge-audit-events.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';

let api: TestApi;
/** Size and root that somebody kept, as the query of an anchor. */
const kept: { size: number; root: string }[] = [];

const get = (path: string) => api.call('GET', `/api/audit/${path}`, { token: api.tokens.admin });
async function verified(query = '') {
  const { valid, reason, first_broken_seq: seq } = (await get(`verify${query}`)).body;
  return { valid, reason, seq };
}
const anchor = ({ size, root }: { size: number; root: string }) => `?anchor_size=${size}&anchor_root=${encodeURIComponent(root)}`;
const fine = { valid: true, reason: null, seq: null };

async function addEvents(count: number): Promise<void> {
  await api.services.database.query(
    `insert into audit_events (id, event_type, event_category, event_version, outcome, actor_id, actor_type, metadata_json, created_at)
     select gen_random_uuid(), 'token.created', 'token', 1, 'success', 'mira', 'user', '{}', '2031-04-05T06:07:08.123456Z' from generate_series(1, $1::int)`,
    [count],
  );
  await sealAll(api);
  const note = readCheckpoint(`${(await get('checkpoint')).text.split('\n\n')[0]}\n`);
  kept.push({ size: note!.size, root: Buffer.from(note!.root).toString('base64') });
}

beforeAll(async () => {
  api = await startTestApi({ toml: shopToml });
  for (const count of [3, 250, 700, 1]) await addEvents(count);
});
afterAll(() => api?.close());

/** Makes a change, asks, and takes the change back. */
async function withChange(change: string, back: string, ask: () => Promise<void>): Promise<void> {
  await tamper(api, change);
  try {
    await ask();
  } finally {
    await tamper(api, back);
  }
}

// The last test purges the log.
describe('the tree of the log', { shuffle: false }, () => {
  it('recomputes the root, and finds each root that was kept to be of a beginning of the log (AU-83)', async () => {
    expect(await verified()).toEqual(fine);
    for (const each of kept) {
      expect(await verified(anchor(each)), `${each.size}`).toEqual(fine);
      expect(await verified(anchor({ ...each, root: Buffer.from(each.root, 'base64').toString('hex') }))).toEqual(fine);
      expect(await verified(anchor({ ...each, root: kept[0] === each ? '0'.repeat(64) : (kept[0]?.root as string) }))).toEqual({
        valid: false,
        reason: 'anchor_mismatch',
        seq: each.size,
      });
    }
    const last = kept.at(-1) as (typeof kept)[number];
    expect((await verified(anchor({ ...last, size: last.size + 1 }))).reason).toBe('anchor_mismatch');
  });

  it('names the half of an anchor that is missing or malformed (AU-83)', async () => {
    const root = kept[0]?.root as string;
    for (const [query, place] of [
      ['?anchor_size=3', 'query.anchor_size'],
      [`?anchor_root=${encodeURIComponent(root)}`, 'query.anchor_size'],
      [`?anchor_size=0&anchor_root=${encodeURIComponent(root)}`, 'query.anchor_size'],
      ['?anchor_size=3&anchor_root=abc', 'query.anchor_root'],
    ])
      expect((await get(`verify${query}`)).body).toMatchObject({ code: 'validation.failed', hint: place });
  });

  it('finds tiles that were changed, cut or removed, and a root that nobody signed (AU-83)', async () => {
    const { database } = api.services;
    const rows = await database.query<{ level: number; index: number; hashes: string }>(
      `select level, index, encode(hashes, 'hex') as hashes from audit_tiles order by level, index`,
    );
    const broken = async () => expect((await verified()).reason).toBe('tree_mismatch');
    expect(rows.length).toBeGreaterThan(4);
    for (const { level, index, hashes } of rows) {
      const at = `level = ${level} and index = ${index}`;
      const width = hashes.length / 64;
      const back = `update audit_tiles set hashes = '\\x${hashes}', width = ${width} where ${at}`;
      await withChange(`update audit_tiles set hashes = set_byte(hashes, 5, get_byte(hashes, 5) # 1) where ${at}`, back, broken);
      if (width > 1)
        await withChange(`update audit_tiles set hashes = substring(hashes for 32), width = 1 where ${at}`, back, broken);
      const again = `insert into audit_tiles (level, index, width, hashes) values (${level}, ${index}, ${width}, '\\x${hashes}')`;
      await withChange(`delete from audit_tiles where ${at}`, again, broken);
    }
    const [head] = await database.query<{ seq: number; root: string; signature: string }>(
      'select seq, tree_root as root, tree_signature as signature from audit_head',
    );
    const { seq, root, signature } = head!;
    const back = `update audit_head set tree_root = '${root}', tree_signature = '${signature}'`;
    const own = signingKeyFromSeed(new Uint8Array(32).fill(3)).sign(
      new TextEncoder().encode(treeText({ seq, treeRoot: '0'.repeat(64) })),
    );
    await withChange(`update audit_head set tree_root = repeat('0', 64)`, back, broken);
    await withChange(`update audit_head set tree_root = repeat('0', 64), tree_signature = '${own}'`, back, broken);
    await withChange(`update audit_head set tree_signature = repeat('0', 128)`, back, broken);
    expect(await verified()).toEqual(fine);
  });

  it('proves what was purged as before, and roots from before the purge (AU-80, AU-83)', async () => {
    const { database, auditKeys } = api.services;
    const last = kept.at(-1) as (typeof kept)[number];
    const proofs = async () => [
      (await get(`proof?seq=2&size=${last.size}`)).body,
      (await get(`proof?from=3&to=${last.size}`)).body,
    ];
    const before = await proofs();
    expect(await database.transaction((tx) => purgeAuditEvents(tx, auditKeys, 0))).toMatchObject({ kind: 'done' });
    const [left] = await database.query<{ first: number }>('select min(seq) as first from audit_events');
    expect(left?.first).toBeGreaterThan(300);
    await sealAll(api);
    expect(await proofs()).toEqual(before);
    for (const each of kept) expect(await verified(anchor(each)), `${each.size}`).toEqual(fine);
    expect((await verified(anchor({ ...last, size: last.size - 1 }))).reason).toBe('anchor_mismatch');
    await tamper(api, 'update audit_tiles set hashes = set_byte(hashes, 5, get_byte(hashes, 5) # 1) where level = 1');
    expect((await verified()).reason).toBe('tree_mismatch');
  });
});
