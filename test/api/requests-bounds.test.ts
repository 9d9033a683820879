import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { approvalDigest } from '../../crypto/execution-token.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

type ApprovedContent = Parameters<typeof approvalDigest>[0];

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let reader: string;
beforeAll(async () => {
  const further = ['third', 'fourth'].map(
    (name) => `[[databases]]\nname = "${name}"\nenvironments = ["staging"]\ndialect = "postgresql"\n`,
  );
  api = await startTestApi({ toml: `${callsToml}\n${further.join('\n')}` });
  calls = gatewayCalls(api);
  owner = await api.createUser('owner', { roles: ['requester'] });
  reader = await api.createUser('reader', { roles: ['approver'] });
  await calls.poll(['shop/staging']);
});
afterAll(() => api?.close());

describe('a database beyond the plan (RQ-22, OP-40, OP-41)', () => {
  const fourth = { database: 'fourth', environment: 'staging' };

  it('is 402 with the limit and what frees a place, and stores nothing', async () => {
    expect((await calls.create(owner, { database: 'third', environment: 'staging' })).status).toBe(201);
    const answer = await calls.create(owner, { ...fourth, idempotency_key: 'k' });
    expect([answer.status, answer.body]).toEqual([
      402,
      { error: 'database limit reached: 3', code: 'plan.limit_exceeded', hint: expect.stringContaining('remove a database') },
    ]);
    expect(await calls.sql(`select 1 from requests where database = 'fourth'`)).toEqual([]);
    expect((await calls.create(owner, { environment: 'staging', idempotency_key: 'k' })).status).toBe(201);
  });

  it('is told after what the text is and who asks, and not by preflight (RQ-20, RQ-21, PF-13)', async () => {
    expect((await calls.create(owner, { ...fourth, detail: 'grant all on t to public' })).status).toBe(400);
    expect((await calls.create(reader, fourth)).status).toBe(403);
    const body = { ...fourth, sql: 'select 1', include_explain: false };
    expect((await api.call('POST', '/api/preflight', { token: owner, body })).status).toBe(200);
    const { databases } = (await api.call('GET', '/api/databases', { token: owner })).body;
    expect(databases).toContainEqual({ ...fourth, dialect: 'postgresql' });
  });
});

it('RQ-I5, RQ-28: an agent is given the bytes that were sent, and the digest fits what is stored', async () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 60 }).map((noise) => noise.replace(/[\0'\\]/g, ''));
  const space = fc.constantFrom('', ' ', '\n', '\t\r\n', '\u00a0');
  await fc.assert(
    fc.asyncProperty(text, space, async (noise, end) => {
      const detail = ` select '${noise}' -- ü${end}\n;${end === '\u00a0' ? '' : end}`;
      const created = await calls.create(owner, { environment: 'staging', detail });
      expect([created.status, created.body.error]).toEqual([201, undefined]);
      const { id } = created.body;
      const claim = (await calls.claim(id)).body;
      expect(claim.detail).toBe(detail);
      const [row] = await calls.sql<{ content: ApprovedContent; digest: string }>(
        `select jsonb_build_object('operation', operation, 'database', database, 'environment', environment, 'policyRevision', policy_revision,
           'detail', detail) as content, approval_digest as digest from requests where id = $1`,
        [id],
      );
      const recomputed = approvalDigest(row!.content);
      expect([recomputed, claim.approval_digest]).toEqual([row!.digest, row!.digest]);
      expect((await calls.submit(claim.execution_id, { success: true })).status).toBe(200);
    }),
    { numRuns: 25 },
  );
});
