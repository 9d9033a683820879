import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listAllKeys } from '../../db/signing-keys.js';
import { revokeSigningKey, rotateKeys } from '../../runtime/key-rotation.js';
import type { TestApi } from '../support/api.js';
import { type Agent, type AgentCalls, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi());
});
afterAll(() => api?.close());

const work = () => ({
  database: api.services.database,
  purpose: 'execution_token' as const,
  secretKey: new Uint8Array(32).fill(0x5e),
});
const published = async (agent: Agent) => (await api.call('GET', '/api/public-key', { token: agent.token })).body;

/** The id of the key that signed a new claim of the agent. */
async function signedWith(agent: Agent): Promise<string> {
  const answer = await agent.claim(await calls.dispatched());
  return JSON.parse(answer.body.execution_token).key_id;
}

describe('a rotation of the signing key in a running server (ET-18, ET-19, ET-I6)', () => {
  it('lets an agent go on with the key it was given, and gives the new one to who asks; a revoked key is gone at once', async () => {
    const [old, asking] = [await calls.known(), await calls.known()];
    const first = (await published(old)).key_id;
    const next = await rotateKeys(work(), { overlapSecs: 3600, now: false });
    const listed = (await published(asking)).keys as { key_id: string; status: string }[];
    expect(listed.map(({ key_id, status }) => [key_id, status])).toEqual([
      [next, 'next'],
      [first, 'current'],
    ]);
    await rotateKeys(work(), { overlapSecs: 3600, now: true });
    const answer = await api.call('GET', '/api/public-key', { token: asking.token });
    expect(answer.body).toMatchObject({ key_id: next });
    expect(answer.body.keys[1]).toMatchObject({ key_id: first, status: 'retiring', not_after: expect.any(String) });
    expect([await signedWith(old), await signedWith(asking)]).toEqual([first, next]);
    expect(await revokeSigningKey(work(), first)).toBeNull();
    expect(await signedWith(old)).toBe(next);
    const made = await revokeSigningKey(work(), next);
    expect(await signedWith(old)).toBe(made);
    expect(((await published(old)).keys as { key_id: string }[]).map(({ key_id }) => key_id)).toEqual([made]);
  });

  it('leaves no old key of the audit log in force, at whatever fraction of a millisecond it comes (AU-40)', async () => {
    const audit = { ...work(), purpose: 'audit' as const };
    for (let round = 0; round < 20; round += 1) {
      const keyId = await rotateKeys(audit, { overlapSecs: 3600, now: false });
      const inForce = (await listAllKeys(audit.database, 'audit')).filter(({ status }) => status !== 'retired');
      expect(inForce).toEqual([expect.objectContaining({ keyId, status: 'current' })]);
    }
  });
});
