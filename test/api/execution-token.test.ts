import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keyIdOf } from '../../crypto/ed25519.js';
import { openSeed } from '../../crypto/seal.js';
import { listAllKeys } from '../../db/signing-keys.js';
import { requesterRole } from '../../domain/execution-token.js';
import { rotateKeys } from '../../runtime/key-rotation.js';
import type { TestApi } from '../support/api.js';
import { vouch } from '../support/vouch.js';
import { type AgentCalls, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi());
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

const secretKey = new Uint8Array(32).fill(0x5e);

/** The token of a claim of a new request of this caller. */
async function tokenFor(requester: string) {
  const agent = await calls.known();
  const id = await calls.created(requester, { environment: 'staging', detail: 'select 1' });
  return JSON.parse((await agent.claim(id)).body.execution_token);
}

describe('who a token says asked (ET-06)', () => {
  it('names the smallest role that the credential could take when the request was made, for every claim of it', async () => {
    const wide = await api.createUser('wilma', { roles: ['requester', 'admin', 'approver'] });
    expect(await tokenFor(wide)).toMatchObject({ requester_role: 'admin', requester_subject_id: 'wilma' });
    const made = await api.call('POST', '/api/tokens', {
      token: wide,
      body: { subject_id: 'wilma', subject_type: 'user', scope_ceiling: { roles: ['requester'] } },
    });
    expect((await tokenFor(made.body.token)).requester_role).toBe('requester');

    const agent = await calls.known();
    const id = await calls.created(wide, { environment: 'staging', detail: 'select 1' });
    const first = (await agent.claim(id)).body;
    await agent.submit(first.execution_id, { success: true });
    const change = await api.call('PATCH', '/api/users/wilma', { token: api.tokens.admin, body: { roles: ['requester'] } });
    expect(change.status).toBeLessThan(300);
    expect((await calls.act(wide, id, 'resume')).status).toBe(200);
    const second = JSON.parse((await agent.claim(id)).body.execution_token);
    expect(second).toMatchObject({ requester_role: 'admin', fence: 2 });
  });
});

describe('a requester without any role (ET-06)', () => {
  it('is `unknown`', () => {
    expect(requesterRole([])).toBe('unknown');
  });

  it('whatever roles there are, the smallest by byte order stands for them', () => {
    const names = fc.array(fc.stringMatching(/^[a-zA-Z0-9_-]{1,8}$/), { minLength: 1 });
    const inBytes = (list: string[]) => list.map((name) => Buffer.from(name)).sort((a, b) => Buffer.compare(a, b));
    fc.assert(
      fc.property(names, (list) => {
        expect(requesterRole(list.map((name) => ({ name })))).toBe(inBytes(list)[0]!.toString());
      }),
    );
  });

  it('may make no request; one that is stored with none is signed as `unknown`', async () => {
    const nobody = await api.createUser('nobody', { roles: [] });
    const body = { database: 'shop', environment: 'staging', detail: 'select 1' };
    expect((await api.call('POST', '/api/requests', { token: nobody, body })).status).toBe(403);

    const agent = await calls.known();
    const id = await calls.dispatched();
    await calls.sql('update requests set requester_role = $2 where id = $1', [id, requesterRole([])]);
    await vouch(api.services.database, id);
    const { body: claim } = await agent.claim(id);
    expect(JSON.parse(claim.execution_token)).toMatchObject({ requester_role: 'unknown', request_id: id });
  });
});

describe('a value that cannot be signed (ET-07)', () => {
  it.each(['a|b', 'a\nb', 'a\u0000b'.replace('\0', '\u007f')])('%j: 500, logged, and nothing is claimed', async (role) => {
    const agent = await calls.known();
    const id = await calls.dispatched();
    await calls.sql('update requests set requester_role = $2 where id = $1', [id, role]);
    await vouch(api.services.database, id);
    const answer = await agent.claim(id);
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('signed');
    expect(api.logged.some((line) => line.includes('cannot be signed'))).toBe(true);
    expect(await calls.statusOf(id)).toBe('dispatched');
    expect(await calls.runsOf(id)).toEqual([]);
    expect(await calls.events(id, 'execution.started')).toEqual([]);
  });
});

describe('GET /api/public-key (AG-75, ET-16, ET-17, ET-18)', () => {
  it('answers the current key and all that verify, and only to agents', async () => {
    const agent = await calls.known();
    const { body } = await api.call('GET', '/api/public-key', { token: agent.token });
    expect(body).toEqual({
      public_key: expect.stringMatching(/^[0-9a-f]{64}$/),
      key_id: keyIdOf(body.public_key),
      keys: expect.any(Array),
    });
    const current = { key_id: body.key_id, public_key: body.public_key, status: 'current', not_after: null };
    const verifying = await calls.sql<{ id: string; status: string }>(
      `select key_id as id, status from signing_keys where purpose = 'execution_token' and status in ('current', 'retiring') order by key_id`,
    );
    const listed: (typeof current)[] = body.keys;
    expect(listed.filter(({ status }) => status === 'current')).toEqual([current]);
    expect(listed.map(({ key_id: id, status }) => ({ id, status })).toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
      verifying,
    );
    for (const token of [api.tokens.admin, calls.requester])
      expect((await api.call('GET', '/api/public-key', { token })).status).toBe(403);
  });
});

describe('seeds and the secret key (ET-24, ET-I8)', () => {
  it('are in no answer, no log line, no audit event and no metric, through claims and rotations', async () => {
    const { database } = api.services;
    const answers: string[] = [];
    const agent = await calls.known();
    const call = async (method: string, path: string, token: string) =>
      answers.push((await api.call(method, path, { token })).text);
    for (const now of [false, true]) {
      await rotateKeys({ database, purpose: 'execution_token', secretKey }, { overlapSecs: 60, now });
      answers.push((await agent.claim(await calls.dispatched())).text);
      await call('GET', '/api/public-key', agent.token);
    }
    for (const path of [
      '/metrics',
      '/openapi.json',
      '/api/agents',
      '/api/requests',
      '/api/audit?limit=200',
      '/api/audit',
      '/health',
    ])
      await call('GET', path, api.tokens.admin);
    const events = await calls.sql<{ text: string }>(
      `select coalesce(resource_id, '') || coalesce(metadata_json, '') as text from audit_events`,
    );
    const told = [...answers, ...api.logged, ...events.map(({ text }) => text)].join('\n');
    expect(told).toContain('key_id');

    const keys = await listAllKeys(database, 'execution_token');
    expect(keys).toHaveLength(2);
    const secrets = keys.flatMap(({ sealedSeed, keyId }) => {
      const seed = Buffer.from(openSeed(sealedSeed, { keyId, purpose: 'execution_token' }, secretKey)!);
      expect(seed).toHaveLength(32);
      return [sealedSeed, seed.toString('hex'), seed.toString('base64'), seed.toString('base64url')];
    });
    for (const secret of [...secrets, '5e'.repeat(32), Buffer.from(secretKey).toString('base64')])
      expect(told.includes(secret)).toBe(false);
  });
});
