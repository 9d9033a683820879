import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventHash } from '../../crypto/audit-hash.js';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { auditEventKeys, type SealedEvent } from '../../domain/audit/event.js';
import { checkpointText, headText, purgeText } from '../../domain/audit/signed-texts.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';

/** Whoever can write every table, past all triggers, but has not the secret key. */
const thief = signingKeyFromSeed(new Uint8Array(32).fill(9));
const signed = (text: string) => `'${thief.keyId}', '${thief.sign(Buffer.from(text))}'`;

let api: TestApi;
/** The log before anything was done to it. */
let log: SealedEvent[];
let earlierHead: Record<string, string | number>;

const copied = ['audit_events', 'audit_head', 'audit_purges', 'audit_tiles', 'signing_keys'];
const columns = auditEventKeys.join(', ');
const sealedEvents = () =>
  api.services.database.query<SealedEvent>(`select ${columns} from audit_events where seq is not null order by seq`);
const verify = async (query = '') => (await api.call('GET', `/api/audit/verify${query}`, { token: api.tokens.admin })).body;
const broken = (reason: string, event: { id?: string; seq: number }) => ({
  valid: false,
  reason,
  first_broken_id: event.id ?? null,
  first_broken_seq: event.seq,
});
const at = (seq: number) => log[seq - 1]!;

beforeAll(async () => {
  api = await startTestApi({ toml: shopToml });
  await sealAll(api);
  [earlierHead] = (await api.services.database.query<Record<string, string>>('select * from audit_head')) as [typeof earlierHead];
  await tamper(api, 'create table earlier_tiles as table audit_tiles');
  const body = {
    database: 'shop',
    environment: 'production',
    detail: 'UPDATE parts SET qty = 1 WHERE id = 2',
    reason: 'zu groß 🚫',
  };
  for (let count = 0; count < 60; count += 1) await api.call('POST', '/api/requests', { token: api.tokens.requester, body });
  for (let count = 0; count < 60; count += 1) await api.call('GET', '/api/requests', { token: `svc_${count}` });
  await sealAll(api);
  log = await sealedEvents();
  await tamper(api, ...copied.map((table) => `create table ${table}_copy as table ${table}`));
});
afterAll(() => api?.close());

afterEach(async () => {
  await tamper(
    api,
    ...copied.flatMap((table) => [
      `delete from ${table}`,
      `insert into ${table} ${table === 'audit_events' ? 'overriding system value' : ''} select * from ${table}_copy`,
    ]),
    'create unique index if not exists audit_events_seq on audit_events (seq) where seq is not null',
    'create unique index if not exists audit_events_prev_hash on audit_events (prev_hash) where prev_hash is not null',
  ).catch((error: unknown) => {
    throw new Error(`not restored: ${String(error)}`);
  });
  expect(await verify()).toMatchObject({ valid: true, sealed: log.length });
});

it('the log is valid, has a checkpoint, and its head is the last event (AU-70)', async () => {
  expect(log.length).toBeGreaterThan(110);
  const checkpoints = log.filter(({ event_type }) => event_type === 'audit.signed_checkpoint').length;
  expect(checkpoints).toBeGreaterThan(0);
  expect(await verify()).toEqual({
    valid: true,
    total_events: log.length,
    sealed: log.length,
    unsealed: 0,
    checkpoints_verified: checkpoints,
    first_broken_id: null,
    first_broken_seq: null,
    reason: null,
    head_seq: log.length,
    head_hash: log.at(-1)!.event_hash,
    oldest_unsealed_at: null,
  });
});

describe('one event (AU-71)', () => {
  it('changed', async () => {
    await tamper(api, `update audit_events set reason = 'never' where seq = 7`);
    expect(await verify()).toMatchObject({ ...broken('hash_mismatch', at(7)), sealed: log.length });
  });

  it('changed, with a hash that fits', async () => {
    const changed = eventHash({ ...at(7), actor_id: 'someone' });
    await tamper(api, `update audit_events set actor_id = 'someone', event_hash = '${changed}' where seq = 7`);
    expect(await verify()).toMatchObject(broken('prev_hash_mismatch', at(8)));
  });

  it('deleted', async () => {
    await tamper(api, 'delete from audit_events where seq = 7');
    expect(await verify()).toMatchObject(broken('sequence_gap', at(8)));
  });

  it('deleted, with the numbers closed up', async () => {
    await tamper(api, 'delete from audit_events where seq = 7', ...moved(8, -1));
    expect(await verify()).toMatchObject(broken('prev_hash_mismatch', { id: at(8).id, seq: 7 }));
  });

  it('inserted', async () => {
    await tamper(
      api,
      'drop index audit_events_prev_hash',
      ...moved(8, 1),
      insert({ ...at(7), prev_hash: at(7).event_hash, seq: 8 }),
    );
    expect(await verify()).toMatchObject(broken('prev_hash_mismatch', { id: at(8).id, seq: 9 }));
  });

  it('inserted beside another with the same number, once the indexes that forbid it are gone', async () => {
    await tamper(
      api,
      'drop index audit_events_seq, audit_events_prev_hash',
      insert({ ...at(7), prev_hash: at(7).event_hash, seq: 8 }),
    );
    expect(await verify()).toMatchObject({ valid: false, reason: 'sequence_gap', first_broken_seq: 8 });
  });

  it('swapped with another', async () => {
    const swap = (from: number, to: number) => `update audit_events set seq = ${to} where seq = ${from}`;
    await tamper(api, swap(7, -1), swap(9, 7), swap(-1, 9));
    expect(await verify()).toMatchObject(broken('prev_hash_mismatch', { id: at(9).id, seq: 7 }));
  });

  it('with its hash taken away', async () => {
    await tamper(api, 'update audit_events set event_hash = null where seq = 7');
    expect(await verify()).toMatchObject(broken('hash_mismatch', at(7)));
  });
});

/** Adds to the numbers from `from` on, without meeting one on the way. */
const moved = (from: number, by: number) => [
  `update audit_events set seq = -seq where seq >= ${from}`,
  `update audit_events set seq = -seq + ${by} where seq < 0`,
];

function insert(event: SealedEvent): string {
  const made = { ...event, id: 'aaaaaaaa-0000-4000-8000-000000000001' };
  const row = JSON.stringify({ ...made, event_hash: eventHash(made) }).replaceAll("'", "''");
  return `insert into audit_events (${columns}) select ${columns} from jsonb_populate_record(null::audit_events, '${row}')`;
}

describe('the newest events (AU-42)', () => {
  it('cut off', async () => {
    const left = log.length - 5;
    await tamper(api, `delete from audit_events where seq > ${left}`);
    expect(await verify()).toMatchObject(broken('head_mismatch', { seq: left + 1 }));
  });

  it('cut off, and the head with them', async () => {
    const left = log.length - 5;
    await tamper(api, `delete from audit_events where seq > ${left}`, 'delete from audit_head');
    expect(await verify()).toMatchObject({ ...broken('head_missing', at(left)), head_seq: null, head_hash: null });
  });

  it('not covered by a head that was rolled back', async () => {
    await tamper(api, 'delete from audit_head', earlier());
    expect(await verify()).toMatchObject(broken('head_mismatch', at(Number(earlierHead.seq) + 1)));
  });

  it('all gone, with all else', async () => {
    await tamper(api, 'delete from audit_events', 'delete from audit_head');
    expect(await verify()).toMatchObject({ valid: false, reason: 'head_missing', total_events: 0 });
  });

  it('and all others, in an older copy of the database: an anchor from outside tells', async () => {
    const seq = Number(earlierHead.seq);
    const tiles = ['delete from audit_tiles', 'insert into audit_tiles select * from earlier_tiles'];
    await tamper(api, `delete from audit_events where seq > ${seq}`, 'delete from audit_head', earlier(), ...tiles);
    expect(await verify()).toMatchObject({ valid: true, head_seq: seq });
    const known = at(seq + 3);
    const anchored = await verify(`?anchor_seq=${known.seq}&anchor_hash=${known.event_hash}`);
    expect(anchored).toMatchObject(broken('anchor_mismatch', { seq: known.seq }));
  });
});

function earlier(): string {
  const row = JSON.stringify(earlierHead);
  return `insert into audit_head select * from jsonb_populate_record(null::audit_head, '${row}')`;
}

describe('a chain made anew without the key (AU-I4)', () => {
  /** Takes event 7 away and hashes all that follow again; checkpoints are signed by the thief, whose key is stored as if it were ours. */
  async function rebuild(resign: boolean) {
    const made: SealedEvent[] = [];
    let count = 0;
    for (const event of log.filter(({ seq }) => seq !== 7)) {
      const prev = made.at(-1)?.event_hash ?? null;
      const isCheckpoint = event.event_type === 'audit.signed_checkpoint';
      const stated = { chainHeadHash: prev ?? '', count, createdAt: event.created_at };
      const metadata = {
        chain_head_hash: prev,
        event_count_since_last_checkpoint: count,
        key_id: thief.keyId,
        signature: thief.sign(Buffer.from(checkpointText(stated))),
      };
      const text = isCheckpoint && resign ? JSON.stringify(metadata) : event.metadata_json;
      const next = { ...event, metadata_json: text, prev_hash: prev, seq: made.length + 1 };
      made.push({ ...next, event_hash: eventHash(next) });
      count = isCheckpoint ? 0 : count + 1;
    }
    const last = made.at(-1)!;
    const sealedAt = last.created_at;
    const rows = JSON.stringify(made).replaceAll("'", "''");
    const ourKey = `update signing_keys set key_id = '${thief.keyId}', public_key = '${thief.publicKeyHex}' where purpose = 'audit'`;
    const head = headText({ seq: last.seq, eventHash: last.event_hash, sealedAt });
    await tamper(
      api,
      'delete from audit_events',
      `insert into audit_events (${columns}) select ${columns} from jsonb_populate_recordset(null::audit_events, '${rows}')`,
      `update audit_head set seq = ${last.seq}, event_hash = '${last.event_hash}', sealed_at = '${sealedAt}',
         (key_id, signature) = (select ${signed(head)})`,
      ...(resign ? [ourKey] : []),
    );
    return made;
  }

  it('with the old checkpoints', async () => {
    const made = await rebuild(false);
    const first = made.find(({ event_type }) => event_type === 'audit.signed_checkpoint')!;
    expect(await verify()).toMatchObject(broken('checkpoint_head_mismatch', first));
  });

  it('with checkpoints that another key signed, though that key is stored as ours (AU-40)', async () => {
    const made = await rebuild(true);
    const first = made.find(({ event_type }) => event_type === 'audit.signed_checkpoint')!;
    expect(await verify()).toMatchObject(broken('checkpoint_signature_invalid', first));
  });

  it('from after the last checkpoint', async () => {
    const last = log.at(-1)!;
    const changed = eventHash({ ...last, actor_id: 'someone' });
    const head = headText({ seq: last.seq, eventHash: changed, sealedAt: last.created_at });
    await tamper(
      api,
      `update audit_events set actor_id = 'someone', event_hash = '${changed}' where seq = ${last.seq}`,
      `update audit_head set event_hash = '${changed}', sealed_at = '${last.created_at}', (key_id, signature) = (select ${signed(head)})`,
    );
    expect(await verify()).toMatchObject(broken('head_signature_invalid', last));
  });
});

describe('a purge that never was', () => {
  const purged = (hash: string) => {
    const text = purgeText({ lastPurgedHash: hash, purgedBefore: at(9).created_at, retainedCount: 1 });
    return `insert into audit_purges (last_purged_seq, last_purged_hash, purged_before, retained_count, key_id, signature)
      values (9, '${hash}', '${at(9).created_at}', 1, ${signed(text)})`;
  };

  it('without a record', async () => {
    await tamper(api, 'delete from audit_events where seq < 10');
    expect(await verify()).toMatchObject(broken('purge_boundary_unauthenticated', at(10)));
  });

  it('with a record that another key signed', async () => {
    await tamper(api, 'delete from audit_events where seq < 10', purged(at(9).event_hash));
    expect(await verify()).toMatchObject(broken('purge_boundary_unauthenticated', at(10)));
  });

  it('hidden by numbers that begin with 1 again', async () => {
    await tamper(api, 'delete from audit_events where seq < 10', ...moved(10, -9));
    expect(await verify()).toMatchObject(broken('purge_boundary_unauthenticated', { id: at(10).id, seq: 1 }));
  });
});

it('an anchor that still holds, one with another hash, and one that is newer than the head (AU-71)', async () => {
  const anchored = (seq: number, hash: string) => verify(`?anchor_seq=${seq}&anchor_hash=${hash}`);
  expect(await anchored(7, at(7).event_hash)).toMatchObject({ valid: true });
  expect(await anchored(7, at(8).event_hash)).toMatchObject(broken('anchor_mismatch', at(7)));
  expect(await anchored(log.length + 1, at(8).event_hash)).toMatchObject(broken('anchor_mismatch', { seq: log.length + 1 }));
});
