import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventHash } from '../../crypto/audit-hash.js';
import { auditEventKeys, type SealedEvent } from '../../domain/audit/event.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';

/** Whoever can write every table, past all triggers, but has not the secret key: no export of theirs may get our signature (AU-I4). */
let api: TestApi;
let log: SealedEvent[];
let earlierHead: string;

const copied = ['audit_events', 'audit_head', 'audit_purges', 'audit_tiles'];
const columns = auditEventKeys.join(', ');
const at = (seq: number) => log[seq - 1]!;
const last = () => log.length;

beforeAll(async () => {
  api = await startTestApi({ toml: shopToml });
  await sealAll(api);
  const [head] = await api.services.database.query<{ row: string }>('select to_jsonb(h)::text as row from audit_head h');
  earlierHead = head!.row;
  for (const name of ['eve', 'otto', 'ada']) await api.createUser(name);
  await sealAll(api);
  log = await api.services.database.query<SealedEvent>(`select ${columns} from audit_events where seq is not null order by seq`);
  await tamper(api, ...copied.map((table) => `create table ${table}_copy as table ${table}`));
});
afterAll(() => api?.close());
afterEach(async () => {
  const restore = (table: string) =>
    `insert into ${table} ${table === 'audit_events' ? 'overriding system value' : ''} select * from ${table}_copy`;
  await tamper(api, ...copied.flatMap((table) => [`delete from ${table}`, restore(table)]));
  expect(await signed('')).toBe(true);
});

/** Whether the gateway signs the export. What it does not sign is refused or breaks off, before or after its status. Each is an event, which is not sealed here. */
async function signed(query: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${api.tokens.admin}` };
  try {
    const answer = await fetch(`${api.url}/api/audit/export${query}`, { headers });
    return answer.status === 200 && (await answer.text()).includes('"manifest"');
  } catch {
    return false;
  }
}

/** The record of a purge. Whoever has the rights of the gateway can insert it. */
const inserted = (seq: number, hash: string) =>
  `insert into audit_purges (last_purged_seq, last_purged_hash, purged_before, retained_count, key_id, signature)
   values (${seq}, '${hash}', '2999-01-01T00:00:00.000000Z', 0, 'k', 's')`;

const both = async (query: string) => [await signed(''), await signed(query)];
const changed = (seq: number) => eventHash({ ...at(seq), actor_id: 'someone' });
const change = (seq: number) => `update audit_events set actor_id = 'someone', event_hash = '${changed(seq)}' where seq = ${seq}`;

describe('the gateway signs no export (AU-62)', () => {
  it('of an event that was changed, but not its hash', async () => {
    await tamper(api, `update audit_events set actor_id = 'someone' where seq = 5`);
    expect(await both('?actor_id=someone')).toEqual([false, false]);
  });

  it('whose newest event was changed together with its hash', async () => {
    await tamper(api, change(last()));
    expect(await both('?actor_id=someone')).toEqual([false, false]);
  });

  it('whose events were changed and linked again up to the newest', async () => {
    const linked = eventHash({ ...at(last()), prev_hash: changed(last() - 1) });
    await tamper(
      api,
      change(last() - 1),
      `update audit_events set prev_hash = '${changed(last() - 1)}', event_hash = '${linked}' where seq = ${last()}`,
    );
    expect(await both('?actor_id=someone')).toEqual([false, false]);
  });

  it('of one event that was changed together with its hash and its place in the tree', async () => {
    await tamper(
      api,
      change(5),
      `update audit_tiles set hashes = overlay(hashes placing sha256('\\x00'::bytea || decode('${changed(5)}', 'hex')) from 4 * 32 + 1)
       where level = 0 and index = 0`,
    );
    expect(await both('?actor_id=someone')).toEqual([false, false]);
  });

  it('that has an event under the number of another', async () => {
    const swap = (from: number, to: number) => `update audit_events set seq = ${to} where seq = ${from}`;
    await tamper(api, swap(5, -1), swap(7, 5), swap(-1, 7));
    expect(await both(`?since=${at(7).created_at}&until=${at(7).created_at}`)).toEqual([false, false]);
  });

  it('that has two events under one number, of which the tree has one', async () => {
    const forged = { ...at(5), id: 'aaaaaaaa-0000-4000-8000-000000000001', reason: 'never happened' };
    const hash = eventHash(forged);
    const row = JSON.stringify({ ...forged, event_hash: hash }).replaceAll("'", "''");
    await tamper(
      api,
      'drop index audit_events_seq, audit_events_prev_hash',
      `insert into audit_events (${columns}) select ${columns} from jsonb_populate_record(null::audit_events, '${row}')`,
      `update audit_tiles set hashes = overlay(hashes placing sha256('\\x00'::bytea || decode('${hash}', 'hex')) from 4 * 32 + 1)
       where level = 0 and index = 0`,
    );
    expect(await both(`?since=${at(5).created_at}&until=${at(5).created_at}`)).toEqual([false, false]);
    await tamper(
      api,
      `delete from audit_events where id = '${forged.id}'`,
      'create unique index audit_events_seq on audit_events (seq) where seq is not null',
      'create unique index audit_events_prev_hash on audit_events (prev_hash) where prev_hash is not null',
    );
  });

  it('whose oldest events are gone, with a record of a purge that nobody signed', async () => {
    await tamper(api, `delete from audit_events where seq <= 5`);
    await api.services.database.query(inserted(5, at(5).event_hash));
    expect(await both('?actor_id=admin')).toEqual([false, false]);
  });

  it('without an event from the middle, or without the newest', async () => {
    await tamper(api, 'delete from audit_events where seq = 5');
    expect(await signed('')).toBe(false);
    await tamper(api, `delete from audit_events where seq = ${last()}`);
    expect(await both('?actor_id=admin')).toEqual([false, false]);
  });

  it('under a head that was set back, or that is gone', async () => {
    const row = earlierHead.replaceAll("'", "''");
    await tamper(
      api,
      'delete from audit_head',
      `insert into audit_head select * from jsonb_populate_record(null::audit_head, '${row}')`,
    );
    expect(await both('?actor_id=admin')).toEqual([false, false]);
    await tamper(api, 'delete from audit_head');
    expect(await both('?actor_id=admin')).toEqual([false, false]);
  });
});

it('an export begins with the first event, whatever purges somebody has recorded (AU-62)', async () => {
  await api.services.database.query(inserted(5, at(5).event_hash));
  const answer = await api.call('GET', '/api/audit/export', { token: api.tokens.admin });
  const lines = answer.text.trimEnd().split('\n');
  expect(JSON.parse(lines[0]!)).toEqual(at(1));
  expect(JSON.parse(lines.at(-1)!).manifest).toMatchObject({ first_seq: 1, last_seq: last(), count: last() });
});
