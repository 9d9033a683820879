import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { signExecutionToken, type TokenClaims } from '../../crypto/execution-token.js';
import { revokeSigningKey } from '../../runtime/key-rotation.js';
import type { Loose } from '../support/api.js';
import { type ClaimBody, type ClaimProxy, startClaimProxy } from '../support/claim-proxy.js';
import { eventually } from '../support/processes.js';
import type { TestAgent } from '../support/test-agent.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

let bench: GatewayBench;
let proxy: ClaimProxy;
let token: string;
let agent: TestAgent;
beforeAll(async () => {
  bench = await startGatewayBench();
  proxy = await startClaimProxy(bench.api.url);
  token = await bench.agentToken();
  await startAgent();
});
afterEach(async () => {
  proxy.onClaim = null;
  await bench.target.query('delete from entries');
});
afterAll(async () => {
  await bench?.close();
  await proxy?.close();
});

/** Starts the agent behind the proxy, and makes its first claim, with which tests answer the claims of other jobs. */
async function startAgent(): Promise<void> {
  agent = bench.start({ gateway: proxy, token });
  proxy.claims.length = 0;
  expect(await bench.ended(await bench.create('select 1'))).toBe('executed');
}

/** A poll that begins after an attempt has ended brings it no more. */
async function nextPoll(): Promise<void> {
  const { length: before } = proxy.paths;
  await eventually(() => proxy.paths.slice(before).includes('/api/agent/poll'), 60_000);
}

const insert = (word: string) => `insert into entries values ('${word}')`;
const wrongKey = signingKeyFromSeed(new Uint8Array(32).fill(66));
const changedToken = (claim: ClaimBody, over: Record<string, unknown>) => ({
  ...claim,
  execution_token: JSON.stringify({ ...JSON.parse(claim.execution_token), ...over }),
});

/** The token as somebody without the gateway's key would make it, for exactly this claim. */
function forged(claim: ClaimBody, keyId = wrongKey.keyId) {
  const signed = JSON.parse(claim.execution_token);
  const { request_id: requestId, execution_id: executionId, detail, ...rest }: Loose = claim;
  const claims: TokenClaims = {
    requestId,
    executionId,
    detail,
    fence: rest.fence,
    marker: rest.marker,
    operation: rest.operation,
    database: rest.database,
    environment: rest.environment,
    unresolvedExecutions: rest.unresolved_executions?.map(({ fence, execution_id }: Loose) => ({
      fence,
      executionId: execution_id,
    })),
    unresolvedFences: rest.unresolved_fences,
    approvalDigest: rest.approval_digest,
    policyRevision: rest.policy_revision,
    statementTimeoutSecs: rest.statement_timeout_secs,
    maxRows: rest.max_rows,
    maxResultBytes: rest.max_result_bytes,
    requesterRole: signed.requester_role,
    requesterSubjectId: signed.requester_subject_id,
    agentId: signed.agent_id,
    issuedAt: new Date(),
  };
  return { ...claim, execution_token: signExecutionToken(claims, { ...wrongKey, keyId }) };
}

const currentKeyId = (claim: ClaimBody) => JSON.parse(claim.execution_token).key_id as string;
const flipped = (hex: string) => hex.slice(0, -1) + (hex.endsWith('0') ? '1' : '0');

/** Nothing ran, the gateway knows why, and so does the audit log (ET-41). */
async function expectRefused(id: string, why: string) {
  expect(await bench.ended(id)).toBe('failed');
  expect(await bench.newestRun(id)).toMatchObject({ outcome: 'not_started', error_message: `token verification failed: ${why}` });
  expect(await bench.audited(id, 'execution.failed')).toMatchObject([
    { outcome: 'failure', metadata: { outcome: 'not_started', fence: 1 } },
  ]);
  expect(await bench.words()).toEqual([]);
  const markers = await bench.target.query('select 1 from svc.svc_execution_marker where request_id = $1', [id]);
  expect(markers.rows).toEqual([]);
}

describe('a claim answer that was changed on its way to a real agent is not run, reported and audited (ET-41, AP-I2)', () => {
  it.each<[string, (claim: ClaimBody) => unknown, string]>([
    ['another text (ET-37, ET-I5)', (claim) => ({ ...claim, detail: insert('other') }), 'detail_hash mismatch'],
    ['another operation', (claim) => ({ ...claim, operation: 'migrate_up' }), 'operation mismatch'],
    ['another database', (claim) => ({ ...claim, database: 'ledger' }), 'database mismatch'],
    ['another environment', (claim) => ({ ...claim, environment: 'production' }), 'environment mismatch'],
    ['another fence', (claim) => ({ ...claim, fence: 2 }), 'fence mismatch'],
    ['another limit of time', (claim) => ({ ...claim, statement_timeout_secs: 0 }), 'statement_timeout_secs mismatch'],
    ['no limit of time', (claim) => ({ ...claim, statement_timeout_secs: undefined }), 'statement_timeout_secs mismatch'],
    ['no need of a marker', (claim) => ({ ...claim, marker: 'none' }), 'marker mismatch'],
    [
      'an execution to be found applied',
      (claim) => ({ ...claim, unresolved_executions: [{ fence: 9, execution_id: claim.execution_id }] }),
      'unresolved_executions mismatch',
    ],
    ['a fence to settle', (claim) => ({ ...claim, unresolved_fences: [9] }), 'unresolved_fences mismatch'],
    ['another digest', (claim) => ({ ...claim, approval_digest: 'a'.repeat(64) }), 'approval_digest mismatch'],
    ['a plan (ET-28)', (claim) => ({ ...claim, execution_plan_json: '["select 1"]' }), 'execution plan not supported'],
    ['a plan as an object (ET-28)', (claim) => ({ ...claim, execution_plan: {} }), 'execution plan not supported'],
    ['a later end in the token', (claim) => changedToken(claim, { expires_at: '2099-01-01T00:00:00.000Z' }), 'signature invalid'],
    ['another agent in the token', (claim) => changedToken(claim, { agent_id: 'agent-9' }), 'signature invalid'],
    [
      'only the first signature (ET-29)',
      (claim) => changedToken(claim, { claim_signature: undefined }),
      'unsupported token version',
    ],
    ['an unknown key (ET-30)', (claim) => forged(claim), 'unknown key'],
    [
      'a token of somebody else under the name of the key (ET-32)',
      (claim) => forged(claim, currentKeyId(claim)),
      'signature invalid',
    ],
    [
      'one other digit in the first signature',
      (claim) => changedToken(claim, { signature: flipped(JSON.parse(claim.execution_token).signature) }),
      'signature invalid',
    ],
    [
      'one other digit in the second signature',
      (claim) => changedToken(claim, { claim_signature: flipped(JSON.parse(claim.execution_token).claim_signature) }),
      'signature invalid',
    ],
    [
      'the token of another job (ET-34)',
      (claim) => ({ ...claim, execution_token: proxy.claims[0]!.execution_token }),
      'request_id mismatch',
    ],
    ['a token that is no JSON (ET-28)', (claim) => ({ ...claim, execution_token: 'x' }), 'invalid token JSON: not a JSON text'],
  ])(
    '%s',
    async (name, change, why) => {
      proxy.onClaim = change;
      await expectRefused(await bench.create(insert(name.replaceAll("'", ''))), why);
    },
    90_000,
  );

  // All positions with SVC_TEST_TOKEN_BYTES=all, about two minutes; test/crypto tries them without a gateway on every run.
  it('any other byte of the token (ET-I1)', async () => {
    const all = process.env.SVC_TEST_TOKEN_BYTES === 'all';
    expect(await bench.ended(await bench.create('select 1'))).toBe('executed');
    const length = proxy.claims.at(-1)!.execution_token.length;
    const positions = Array.from({ length: all ? length : 16 }, (_, n) => (all ? n : Math.floor((n * length) / 16)));
    proxy.onClaim = (claim) => {
      const { execution_token: text, detail } = claim;
      const position = Number(/byte (\d+)/.exec(detail)![1]);
      const other = String.fromCharCode(text.charCodeAt(position) ^ 1);
      return { ...claim, execution_token: text.slice(0, position) + other + text.slice(position + 1) };
    };
    for (let from = 0; from < positions.length; from += 8) {
      const ids: string[] = [];
      for (const position of positions.slice(from, from + 8)) ids.push(await bench.create(insert(`byte ${position}`)));
      for (const id of ids) {
        expect(await bench.ended(id)).toBe('failed');
        expect((await bench.newestRun(id)).error_message).toMatch(/^token verification failed: /);
      }
    }
    expect(await bench.words()).toEqual([]);
  }, 1_800_000);

  it('the answer to another claim: it counts as none, and the claim is repeated', async () => {
    const other = proxy.claims[0]!;
    const id = await bench.create(insert('swapped'));
    let answers = 0;
    proxy.onClaim = (claim) => {
      answers += 1;
      return answers === 1 ? other : claim;
    };
    expect(await bench.ended(id)).toBe('executed');
    expect(answers).toBe(2);
    expect(await bench.words()).toEqual(['swapped']);
  });
});

describe('a resumed attempt whose claim answer was changed (ET-41, AG-59)', () => {
  it.each<[string, (claim: ClaimBody) => unknown, string]>([
    ['a forged token', (claim) => forged(claim, currentKeyId(claim)), 'signature invalid'],
    ['a claim that hides the lost attempt', (claim) => ({ ...claim, unresolved_fences: [] }), 'unresolved_fences mismatch'],
    [
      'a claim that leaves out its execution (HD-41)',
      (claim) => ({ ...claim, unresolved_executions: undefined }),
      'unresolved_executions mismatch',
    ],
    [
      'a claim that gives it another execution (HD-41)',
      (claim) => ({ ...claim, unresolved_executions: [{ fence: 1, execution_id: claim.execution_id }] }),
      'unresolved_executions mismatch',
    ],
  ])(
    '%s leaves the request lost: nothing is known of the attempt before it',
    async (name, change, why) => {
      proxy.onClaim = () => Promise.reject(new Error('the answer is lost'));
      const id = await bench.create(insert(name));
      const unanswered = () => proxy.claims.filter((claim) => claim.request_id === id);
      await eventually(() => unanswered().length >= 4, 60_000);
      await bench.calls.fireClock(id, 'lease');
      await nextPoll();
      proxy.onClaim = change;
      expect((await bench.resume(id)).status).toBe(200);
      expect(await bench.ended(id)).toBe('execution_lost');
      expect(await bench.newestRun(id)).toMatchObject({
        outcome: 'unknown',
        error_message: `token verification failed: ${why}: it is not known what attempt 1 did`,
      });
      expect(await bench.words()).toEqual([]);

      proxy.onClaim = null;
      expect((await bench.resume(id)).status).toBe(200);
      expect(await bench.ended(id)).toBe('executed');
      expect(await bench.words()).toEqual([name]);
    },
    90_000,
  );
});

describe('a claim answer as the gateway gave it (ET-I2)', () => {
  it('is run, whatever characters its text has, and what comes back is what was sent', async () => {
    const fixed = [
      '\ufeffBOM',
      'a\r\n\tb',
      '\u2028\u2029',
      '\u007f\u0085',
      '"\\|/',
      'e\u0301 \u{1f469}\u200d\u{1f52c}',
      '\uffff\u{10ffff}',
    ];
    const random = fc.sample(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), 13);
    const texts = [...fixed, ...random.map((text) => text.replaceAll('\0', ''))];
    const ids: string[] = [];
    for (const text of texts) ids.push(await bench.create(`select '${text.replaceAll("'", "''")}' as t`));
    for (const [index, id] of ids.entries()) {
      expect([texts[index], await bench.ended(id)]).toEqual([texts[index], 'executed']);
      expect((await bench.calls.content(bench.dana, id)).body.result_data.rows).toEqual([{ t: texts[index] }]);
    }
  }, 90_000);
});

describe('a token whose time is not now (ET-33)', () => {
  // The gateway signs with the clock of its database; those of its process and of the agent go wrong together, so that they agree.
  it.each([
    ['that has ended', 331_000, 'token expired'],
    ['that has not begun', -60_000, 'token not yet valid'],
  ])('is refused by a real agent when it is one %s', async (_, aheadMs, why) => {
    proxy.onClaim = (claim) => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadMs });
      return claim;
    };
    const id = await bench.create(insert('at another time'));
    try {
      await eventually(async () => (await bench.statusOf(id)) === 'failed', 3_600_000);
    } finally {
      vi.useRealTimers();
    }
    await expectRefused(id, why);
  });
});

describe('a claim answer that was used before (ET-39, ET-I7)', () => {
  it('is not run again by the process that ran it, and not written again by another one', async () => {
    const id = await bench.create(insert('once'));
    expect(await bench.ended(id)).toBe('executed');
    const first = proxy.claims.at(-1)!;
    proxy.onClaim = () => first;
    expect((await bench.resume(id)).status).toBe(200);
    await eventually(() => agent.lines.some((line) => line.includes('already started') && line.includes(id)), 60_000);
    expect(await bench.words()).toEqual(['once']);

    // Another process under the same token remembers nothing; the marker does.
    agent.stop();
    await agent.exit;
    agent = bench.start({ gateway: proxy, token });
    await bench.calls.fireClock(id, 'lease');
    expect(await bench.statusOf(id)).toBe('execution_lost');
    expect((await bench.resume(id)).status).toBe(200);
    await eventually(() => agent.lines.some((line) => line.includes('result refused') && line.includes('410')), 60_000);
    expect(await bench.words()).toEqual(['once']);

    // And the attempt that a person asked for can still be made.
    await bench.calls.fireClock(id, 'lease');
    await nextPoll();
    proxy.onClaim = null;
    expect((await bench.resume(id)).status).toBe(200);
    expect(await bench.ended(id)).toBe('executed');
    expect(await bench.words()).toEqual(['once', 'once']);
  }, 90_000);
});

describe('a key that is revoked between claim and verification (section 11, ET-27)', () => {
  it('verifies nothing any more, and the next job is signed with its successor', async () => {
    const refreshing = await startClaimProxy(bench.api.url);
    await bench.stopAll();
    bench.start({ gateway: refreshing, token: await bench.agentToken(), timings: { keyRefreshMs: 40 } });
    const work = {
      database: bench.api.services.database,
      purpose: 'execution_token' as const,
      secretKey: new Uint8Array(32).fill(0x5e),
    };
    const refreshes = () => refreshing.paths.filter((path) => path === '/api/public-key').length;
    refreshing.onClaim = async (claim) => {
      await revokeSigningKey(work, currentKeyId(claim));
      const before = refreshes();
      await eventually(() => refreshes() >= before + 2);
      return claim;
    };
    try {
      await expectRefused(await bench.create(insert('revoked')), 'unknown key');
      refreshing.onClaim = null;
      expect(await bench.ended(await bench.create(insert('successor')))).toBe('executed');
      expect(currentKeyId(refreshing.claims[1]!)).not.toBe(currentKeyId(refreshing.claims[0]!));
    } finally {
      await bench.stopAll();
      await refreshing.close();
      await startAgent();
    }
  }, 90_000);
});
