import { afterAll, beforeAll, expect, it } from 'vitest';
import { purgeAuditEvents } from '../../worker/purge-audit-events.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll } from '../support/audit-api.js';

interface Kept {
  seq: number;
  event_hash: string;
}

/** A quiet log, of which a purge has deleted every event that was sealed; the event of the purge waits for its seal. */
let api: TestApi;
let kept: Kept[];
beforeAll(async () => {
  api = await startTestApi({ toml: shopToml });
  await sealAll(api);
  const { database, auditKeys } = api.services;
  const [head] = await database.query<{ seq: number }>('select seq from audit_head');
  await database.query(
    `insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type)
     select gen_random_uuid(), 'token.created', 'token', 'success', 'mira', 'user' from generate_series(1, $1::int)`,
    [100 - head!.seq],
  );
  await sealAll(api);
  kept = await database.query<Kept>('select seq, event_hash from audit_events order by seq');
  await database.transaction((tx) => purgeAuditEvents(tx, auditKeys, 0));
  expect(await database.query('select 1 from audit_events where seq is not null')).toEqual([]);
});
afterAll(() => api?.close());

const get = (path: string) => api.call('GET', `/api/audit/${path}`, { token: api.tokens.admin });

it('anchors of what a purge of all has deleted are compared as far as they can be (AU-71)', async () => {
  const anchored = async (seq: number, hash: string) => (await get(`verify?anchor_seq=${seq}&anchor_hash=${hash}`)).body.reason;
  const [first, last] = [kept[0]!, kept.at(-1)!];
  expect(await anchored(first.seq, first.event_hash)).toBe(null);
  expect(await anchored(last.seq, last.event_hash)).toBe(null);
  expect(await anchored(last.seq, first.event_hash)).toBe('anchor_mismatch');
  expect(await anchored(last.seq + 1, last.event_hash)).toBe('anchor_mismatch');
});

it('an export has no events, and is signed (AU-62)', async () => {
  const { status, text } = await get('export');
  expect(status).toBe(200);
  expect(JSON.parse(text).manifest).toMatchObject({ first_seq: null, last_seq: null, count: 0, last_hash: null });
});
