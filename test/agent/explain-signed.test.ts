import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { type ExplainTerms, signExplainToken } from '../../crypto/explain-token.js';
import { type ClaimProxy, startClaimProxy } from '../support/claim-proxy.js';
import { eventually } from '../support/processes.js';
import type { TestAgent } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../support/toml.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

const impostor = signingKeyFromSeed(new Uint8Array(32).fill(66));
const secret = 'select word as stolen from entries';

let bench: GatewayBench;
let gateway: ClaimProxy;
let agent: TestAgent;
beforeAll(async () => {
  bench = await startGatewayBench([databaseToml('shop', ['staging']), dbaTeamToml, needsDbaToml()].join(''));
  gateway = await startClaimProxy(bench.api.url);
  agent = bench.start({ gateway, token: await bench.agentToken() });
  await eventually(() => agent.lines.some((line) => line.includes('agent is ready')));
});
afterEach(() => {
  gateway.onAnswer = null;
});
afterAll(async () => {
  await bench?.close();
  await gateway?.close();
});

interface Job {
  [key: string]: unknown;
  id: string;
  database: string;
  environment: string;
  sql: string;
  explain_token?: string;
}

const termsOf = (job: Job, kind: ExplainTerms['kind']): ExplainTerms => ({
  jobId: job.id,
  kind,
  database: job.database,
  environment: job.environment,
  sql: job.sql,
  agentId: 'agent-1',
});
/** Changes every preflight job on its way to the agent. */
const changing = (change: (job: Job) => Job) => (path: string, body: Record<string, unknown>) =>
  path.startsWith('/api/agent/poll') ? { ...body, preflight_jobs: (body.preflight_jobs as Job[]).map(change) } : body;
const preflight = (sql: string) =>
  bench.api.call('POST', '/api/preflight', { token: bench.dana, body: { database: 'shop', environment: 'staging', sql } });

describe('a preflight job that the gateway did not sign for this agent and these bytes (HD-81)', () => {
  it('is planned when nobody changed it', async () => {
    expect((await preflight('select * from entries')).body.impact.status).toBe('completed');
  });

  it.each<[string, (job: Job) => Job, string]>([
    ['another text', (job) => ({ ...job, sql: secret }), 'sql_hash mismatch'],
    ['another blank', (job) => ({ ...job, sql: `${job.sql} ` }), 'sql_hash mismatch'],
    [
      'a token by another key',
      (job) => ({ ...job, explain_token: signExplainToken(termsOf(job, 'preflight'), impostor, new Date()) }),
      'unknown key',
    ],
    [
      'a token by another key under the name of the right one',
      (job) => {
        const forged = signExplainToken(termsOf(job, 'preflight'), impostor, new Date());
        return {
          ...job,
          explain_token: JSON.stringify({ ...JSON.parse(forged), key_id: JSON.parse(job.explain_token!).key_id }),
        };
      },
      'signature invalid',
    ],
    [
      'a token for another agent',
      (job) => ({ ...job, explain_token: JSON.stringify({ ...JSON.parse(job.explain_token!), agent_id: 'agent-2' }) }),
      'signature invalid',
    ],
    ['no JSON', (job) => ({ ...job, explain_token: 'x' }), 'invalid token JSON: not a JSON text'],
  ])('is not planned: %s', async (_, change, why) => {
    agent.lines.length = 0;
    gateway.onAnswer = changing(change);
    const { impact } = (await preflight('select * from entries')).body;
    expect(impact).toEqual({ status: 'error', error: expect.stringMatching(/^not planned: /), unknown_name: false });
    expect(agent.lines.filter((line) => line.includes('EXPLAIN job refused'))).toEqual([expect.stringContaining(why)]);
  });

  it('is not planned with the token of an earlier job', async () => {
    let earlier: string | undefined;
    gateway.onAnswer = changing((job) => {
      const given = earlier;
      earlier ??= job.explain_token;
      return given === undefined ? job : { ...job, explain_token: given };
    });
    expect((await preflight('select * from entries')).body.impact.status).toBe('completed');
    expect((await preflight('select * from entries')).body.impact.status).toBe('error');
  });
});

describe('a statement of a request (HD-81)', () => {
  const planOf = async (sql: string) => {
    const { body } = await bench.calls.create(bench.dana, { environment: 'staging', detail: sql });
    const context = async () => (await bench.calls.show(bench.dana, body.id)).body.context;
    await eventually(async () => (await context()).status !== 'collecting');
    return (await context()).explain[0];
  };
  const claims = (change: (body: Record<string, unknown>) => object) => (path: string, body: Record<string, unknown>) =>
    path.includes('/dry-run/') && path.endsWith('/claim') ? change(body) : body;

  it('is planned with a token, and its bytes are those that were signed', async () => {
    expect(await planOf('select word from entries')).toMatchObject({ plan: expect.anything() });
    gateway.onAnswer = (path, body) =>
      path.startsWith('/api/agent/poll')
        ? { ...body, dry_run_jobs: (body.dry_run_jobs as Job[]).map((job) => ({ ...job, sql: secret })) }
        : body;
    expect(await planOf('select word from entries')).toMatchObject({
      error: 'not planned: explain token verification failed: sql_hash mismatch',
    });
  });

  it('is not planned for a gateway that is older than these tokens, which is told plainly', async () => {
    gateway.onAnswer = claims(({ explain_token: _, ...older }) => older);
    expect(await planOf('select word from entries')).toMatchObject({
      error: 'not planned: the gateway signs no EXPLAIN jobs, it is older than this agent',
    });
  });
});
