import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { keyIdOf, signingKeyFromSeed } from '../../crypto/ed25519.js';
import { approvalDigest, detailHash } from '../../crypto/execution-token.js';
import { firstMessage, secondMessage } from '../../domain/execution-token.js';
import { revokeSigningKey, rotateKeys } from '../../runtime/key-rotation.js';
import type { Loose } from '../support/api.js';
import { type ClaimBody, type ClaimProxy, startClaimProxy } from '../support/claim-proxy.js';
import { eventually } from '../support/processes.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

const impostor = signingKeyFromSeed(new Uint8Array(32).fill(66));
const impostorKeys = {
  public_key: impostor.publicKeyHex,
  key_id: impostor.keyId,
  keys: [{ key_id: impostor.keyId, public_key: impostor.publicKeyHex, status: 'current', not_after: null }],
};
const quickKeys = { keyRefreshMs: 40, keyRefreshAtMostEveryMs: 1 };
const insert = (word: string) => `insert into entries values ('${word}')`;

let bench: GatewayBench;
let gateway: ClaimProxy;
beforeAll(async () => {
  bench = await startGatewayBench();
  gateway = await startClaimProxy(bench.api.url);
});
afterEach(async () => {
  await bench.stopAll();
  await bench.target.query('delete from entries');
  gateway.onClaim = null;
  gateway.onAnswer = null;
  gateway.claims.length = 0;
  gateway.paths.length = 0;
});
afterAll(async () => {
  await bench?.close();
  await gateway?.close();
});

const listed = async (): Promise<string[]> =>
  (
    await bench.calls.sql<{ key: string }>(
      `select public_key as key from signing_keys where status in ('current', 'next', 'retiring')`,
    )
  ).map(({ key }) => key);
/** The agent has asked for the keys from beginning to end. */
async function untilAsked(): Promise<void> {
  const asked = () => gateway.paths.filter((path) => path.startsWith('/api/public-key')).length;
  const before = asked();
  await eventually(() => asked() > before + 2);
}

const pinned = (keys: readonly string[]) => `trusted_keys = ${JSON.stringify(keys)}`;
const work = () => ({
  database: bench.api.services.database,
  purpose: 'execution_token' as const,
  secretKey: new Uint8Array(32).fill(0x5e),
});

/** From now on the gateway lists a key of its own, and signs with it what nobody approved. */
function takeOver() {
  gateway.onAnswer = (path, body) => (path.startsWith('/api/public-key') ? impostorKeys : body);
  gateway.onClaim = (claim: ClaimBody) => {
    const detail = insert('stolen');
    const { operation, database, environment, policy_revision: policyRevision }: Loose = claim;
    const digest = approvalDigest({ operation, database, environment, policyRevision, detail });
    return { ...claim, detail, approval_digest: digest, execution_token: signedAnew(claim.execution_token, detail, digest) };
  };
}

/** The token with another text and the impostor's signatures; all else is as the gateway signed it. */
function signedAnew(token: string, detail: string, digest: string): string {
  const { signature: _, claim_signature: __, ...old }: Loose = JSON.parse(token);
  const fields = { ...old, detail_hash: detailHash(old.operation, detail), approval_digest: digest, key_id: impostor.keyId };
  const first = firstMessage({
    requestId: fields.request_id,
    operation: fields.operation,
    environment: fields.environment,
    database: fields.database,
    detailHash: fields.detail_hash,
    expiresAt: fields.expires_at,
    requesterRole: fields.requester_role,
    requesterSubjectId: fields.requester_subject_id,
  });
  fields.signature = impostor.sign(Buffer.from(first));
  const claimSignature = impostor.sign(Buffer.from(secondMessage(new Map(Object.entries(fields)))));
  return JSON.stringify({ ...fields, claim_signature: claimSignature });
}

describe('a gateway that somebody took over (HD-80)', () => {
  it('makes an agent without pins run what it likes, and one with pins nothing, though its key is listed', async () => {
    const keys = await listed();
    const trusting = bench.start({ gateway, token: await bench.agentToken(), timings: quickKeys });
    await eventually(() => trusting.lines.some((line) => line.includes('agent is ready')));
    takeOver();
    expect(await bench.ended(await bench.create(insert('asked')))).toBe('executed');
    expect(await bench.words()).toEqual(['stolen']);
    await bench.target.query('delete from entries');
    await bench.stopAll();
    gateway.onAnswer = null;
    gateway.onClaim = null;

    const agent = bench.start({ gateway, token: await bench.agentToken(), server: pinned(keys), timings: quickKeys });
    await eventually(() => agent.lines.some((line) => line.includes('agent is ready')));
    takeOver();
    const id = await bench.create(insert('asked'));
    expect(await bench.ended(id)).toBe('failed');
    expect(await bench.newestRun(id)).toMatchObject({
      outcome: 'not_started',
      error_message: 'token verification failed: unknown key',
    });
    expect(await bench.words()).toEqual([]);
    expect(agent.lines.some((line) => line.includes('server.trusted_keys does not name') && line.includes(impostor.keyId))).toBe(
      true,
    );
  }, 120_000);

  it('does not start an agent that finds none of its keys, which names those it found', async () => {
    gateway.onAnswer = (path, body) => (path.startsWith('/api/public-key') ? impostorKeys : body);
    const agent = bench.start({ gateway, token: await bench.agentToken(), server: pinned(await listed()) });
    expect(await agent.exit).toBe(1);
    expect(agent.lines.at(-1)).toContain(`server.trusted_keys names none of the keys that the gateway lists (${impostor.keyId})`);
  });
});

describe('rotating with pins (HD-80)', () => {
  it('an agent that lists the old key goes on until the overlap ends, also after it has asked for the keys; then the next one counts', async () => {
    const old = await listed();
    const agent = bench.start({ gateway, token: await bench.agentToken(), server: pinned(old), timings: quickKeys });
    await eventually(() => agent.lines.some((line) => line.includes('agent is ready')));
    const nextId = await rotateKeys(work(), { overlapSecs: 3600, now: true });
    await untilAsked();
    expect(await bench.ended(await bench.create(insert('with the old key')))).toBe('executed');
    expect(JSON.parse(gateway.claims.at(-1)!.execution_token).key_id).not.toBe(nextId);
    await bench.stopAll();

    const prepared = bench.start({
      gateway,
      token: await bench.agentToken(),
      server: pinned(await listed()),
      timings: quickKeys,
    });
    await eventually(() => prepared.lines.some((line) => line.includes('agent is ready')));
    expect(await bench.ended(await bench.create(insert('with the next key')))).toBe('executed');
    expect(JSON.parse(gateway.claims.at(-1)!.execution_token).key_id).toBe(nextId);
    expect(await bench.words()).toEqual(['with the next key', 'with the old key']);
    await bench.target.query('delete from entries');
    // The one that takes over from a revoked key is not pinned; the old one is, and may still sign.
    const [oldId] = old.map(keyIdOf);
    await revokeSigningKey(work(), nextId);
    await eventually(() => prepared.lines.some((line) => line.includes('server.trusted_keys does not name')));
    await untilAsked();
    expect(await bench.ended(await bench.create(insert('with the old key again')))).toBe('executed');
    expect(JSON.parse(gateway.claims.at(-1)!.execution_token).key_id).toBe(oldId);
    await revokeSigningKey(work(), oldId!);
    await untilAsked();
    const refused = await bench.create(insert('with a key that is not pinned'));
    expect(await bench.ended(refused)).toBe('failed');
    expect((await bench.newestRun(refused)).error_message).toBe('token verification failed: unknown key');
    expect(await bench.words()).toEqual(['with the old key again']);
  }, 120_000);
});
