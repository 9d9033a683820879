import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SealedEvent } from '../../domain/audit/event.js';
import { purgeAuditEvents } from '../../worker/purge-audit-events.js';
import { sealBatch } from '../../worker/seal-batch.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';

/** Whoever writes the database keeps old rows and puts them back: all of it was signed by the gateway once. */
type Head = Record<'event_hash' | 'signature' | 'tree_root' | 'tree_signature', string> & { seq: number };

let api: TestApi;
/** The head at the checkpoint that was purged later, one before the purge, and the newest. */
const heads: { purged: Head; before: Head; newest: Head } = {} as never;

const copied = ['audit_events', 'audit_head', 'audit_purges', 'audit_tiles', 'signing_keys'];
const query = <Row extends object>(text: string) => api.services.database.query<Row>(text);
const verify = async () => (await api.call('GET', '/api/audit/verify', { token: api.tokens.admin })).body;
const log = { origin: 'svc', isAnchored: false };
const sealing = () => api.services.database.transaction((tx) => sealBatch(tx, api.services.auditKeys, log));
const head = async () => (await query<Head>('select * from audit_head'))[0] as Head;
const event = async (seq: number) =>
  (await query<SealedEvent>(`select * from audit_events where seq = ${seq}`))[0] as SealedEvent;

async function add(count: number): Promise<Head> {
  await query(
    `insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type)
     select gen_random_uuid(), 'token.created', 'token', 'success', 'mira', 'user' from generate_series(1, ${count})`,
  );
  await sealAll(api);
  return head();
}

const backTo = (former: Head) => [
  'delete from audit_head',
  `insert into audit_head select * from jsonb_populate_record(null::audit_head, '${JSON.stringify(former)}')`,
];

beforeAll(async () => {
  api = await startTestApi({ toml: shopToml });
  await sealAll(api);
  heads.purged = await add(100 - (await head()).seq);
  expect((await event(heads.purged.seq)).event_type).toBe('audit.signed_checkpoint');
  heads.before = await add(10);
  await add(10);
  await api.services.database.transaction((tx) => purgeAuditEvents(tx, api.services.auditKeys, 0));
  await sealAll(api);
  heads.newest = await add(100);
  await tamper(api, ...copied.map((table) => `create table ${table}_copy as table ${table}`));
});
afterAll(() => api?.close());

afterEach(async () => {
  const back = (table: string) =>
    `insert into ${table} ${table === 'audit_events' ? 'overriding system value' : ''} select * from ${table}_copy`;
  await tamper(api, ...copied.flatMap((table) => [`delete from ${table}`, back(table)]));
  expect(await verify()).toMatchObject({ valid: true, head_seq: heads.newest.seq });
});

async function expectBroken(reason: string, place: { id?: string | null; seq: number }): Promise<void> {
  expect(await verify()).toMatchObject({ valid: false, reason, first_broken_id: place.id ?? null, first_broken_seq: place.seq });
}

describe('the newest events cut off, and a head put back that was signed once (AU-I3, AU-I4)', () => {
  it.each(['before', 'purged'] as const)('the one %s: a purge since has signed how many events there were', async (which) => {
    const former = heads[which];
    await tamper(api, `delete from audit_events where seq > ${former.seq}`, ...backTo(former));
    await expectBroken('head_mismatch', { seq: former.seq + 1 });
    expect(await sealing()).toMatchObject({ kind: 'stopped', reason: expect.stringContaining('head_mismatch') });
  });

  it('with its events only made unsealed again, to be changed', async () => {
    const left = heads.newest.seq - 3;
    await tamper(api, `update audit_events set seq = null, prev_hash = null, event_hash = null where seq > ${left}`);
    await expectBroken('head_mismatch', { seq: left + 1 });
  });
});

describe('what the gateway signed, in another place (AU-I4)', () => {
  it('the root of the tree of an older head', async () => {
    const { tree_root: root, tree_signature: signature } = heads.before;
    await tamper(api, `update audit_head set tree_root = '${root}', tree_signature = '${signature}'`);
    await expectBroken('tree_mismatch', heads.newest);
  });

  it.each(['signature', 'tree_signature'] as const)('the %s of an older head as that of the newest', async (column) => {
    await tamper(api, `update audit_head set signature = '${heads.before[column]}'`);
    await expectBroken('head_signature_invalid', { id: (await event(heads.newest.seq)).id, seq: heads.newest.seq });
  });

  it('the record of a purge, for more than it deleted', async () => {
    const [first] = await query<{ seq: number }>('select min(seq) as seq from audit_events');
    const last = await event((first?.seq ?? 0) + 4);
    await tamper(
      api,
      `delete from audit_events where seq <= ${last.seq}`,
      `update audit_purges set last_purged_seq = ${last.seq}, last_purged_hash = '${last.event_hash}'`,
    );
    await expectBroken('purge_boundary_unauthenticated', await event(last.seq + 1));
  });

  it('a purge without its record', async () => {
    const [first] = await query<SealedEvent>('select * from audit_events order by seq limit 1');
    await tamper(api, 'delete from audit_purges');
    await expectBroken('purge_boundary_unauthenticated', first as SealedEvent);
  });
});

describe('keys (AU-40)', () => {
  it('that are gone: nothing is trusted in their place', async () => {
    await tamper(api, `delete from signing_keys where purpose = 'audit'`);
    const [first] = await query<SealedEvent>('select * from audit_events order by seq limit 1');
    await expectBroken('purge_boundary_unauthenticated', first as SealedEvent);
    expect(await sealing()).toMatchObject({ kind: 'stopped' });
  });

  it('of another purpose, passed off as the current key of the log', async () => {
    await tamper(
      api,
      `delete from signing_keys where purpose = 'audit'`,
      `update signing_keys set purpose = 'audit' where purpose = 'execution_token' and status = 'current'`,
    );
    const [first] = await query<SealedEvent>('select * from audit_events order by seq limit 1');
    await expectBroken('purge_boundary_unauthenticated', first as SealedEvent);
    expect(await sealing()).toMatchObject({ kind: 'stopped' });
  });
});

describe('rows that no gateway writes', () => {
  it('an event in front of the first, in a place below 1', async () => {
    const { seq } = heads.newest;
    await tamper(
      api,
      `insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type, prev_hash, event_hash, seq)
       select gen_random_uuid(), event_type, event_category, outcome, actor_id, actor_type, null, event_hash, -1 from audit_events where seq = ${seq}`,
    );
    const slipped = await event(-1);
    await expectBroken('sequence_gap', slipped);
  });

  it('numbers larger than any that can be counted with', async () => {
    const { id } = await event(heads.newest.seq);
    await tamper(api, `update audit_events set seq = 9223372036854775807 where seq = ${heads.newest.seq}`);
    expect(await verify()).toMatchObject({ valid: false, reason: 'sequence_gap', first_broken_id: id });
    await tamper(api, 'update audit_head set seq = 9223372036854775807');
    expect(await verify()).toMatchObject({ valid: false, reason: 'sequence_gap' });
  });

  it('no text where there must be one, once its constraint is gone', async () => {
    const { seq } = heads.newest;
    const changed = await event(seq - 2);
    await tamper(
      api,
      'alter table audit_events alter metadata_json drop not null',
      `update audit_events set metadata_json = null where seq = ${seq - 2}`,
    );
    await expectBroken('hash_mismatch', changed);
    await tamper(
      api,
      `update audit_events set metadata_json = '{}' where seq = ${seq - 2}`,
      'alter table audit_events alter metadata_json set not null',
    );
  });

  it('a hash more in the last tile, with which no sealer would go on', async () => {
    await tamper(
      api,
      `update audit_tiles set width = width + 1, hashes = hashes || decode(repeat('ab', 32), 'hex') where level = 0 and width < 256`,
    );
    await expectBroken('tree_mismatch', heads.newest);
    expect(await sealing()).toMatchObject({ kind: 'stopped', reason: expect.stringContaining('tree_mismatch') });
  });
});
