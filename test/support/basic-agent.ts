import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import pg from 'pg';
import type { Loose } from './api.js';

/** A claim answer, as far as the basic protocol knows it. */
export interface BasicClaim {
  execution_id: string;
  request_id: string;
  execution_token: string;
  operation: string;
  environment: string;
  database: string;
  detail: string;
  execution_plan_json: string | null;
}

export interface BasicAnswer {
  status: number;
  body: Loose;
}

/**
 * An agent that knows only the basic protocol, written without any of our code. It polls without features, claims without a body,
 * checks the first signature with the one key that it read at its start, and reports results without fence or outcome.
 */
export interface BasicAgent {
  keyId: string;
  /** Ids of the offered requests. */
  poll(limit?: number): Promise<string[]>;
  claim(requestId: string): Promise<BasicAnswer>;
  heartbeat(executionId: string): Promise<BasicAnswer>;
  submit(executionId: string, result: object): Promise<BasicAnswer>;
  /** What is wrong with the token of a claim, or null. */
  tokenProblem(claim: BasicClaim): string | null;
  /** Verifies and runs a claimed job with heartbeats, cancels it when one says so, and submits the outcome. */
  run(claim: BasicClaim): Promise<BasicAnswer>;
  /** One round: polls, and runs all jobs that it can claim; returns their ids. */
  work(): Promise<string[]>;
}

export interface BasicAgentOptions {
  url: string;
  token: string;
  targetUrl: string;
  scope: { database: string; environment: string };
  heartbeatMs?: number;
}

export async function startBasicAgent({
  url,
  token,
  targetUrl,
  scope,
  heartbeatMs = 100,
}: BasicAgentOptions): Promise<BasicAgent> {
  const call = async (method: string, path: string, body?: object): Promise<BasicAnswer> => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const answer = await fetch(url + path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
    const text = await answer.text();
    if (answer.ok && text === '') throw new Error(`${path}: an empty answer`);
    return { status: answer.status, body: JSON.parse(text) };
  };
  const published = (await call('GET', '/api/public-key')).body;
  const key = ed25519Key(published.public_key);
  const heartbeat = (executionId: string) => call('POST', `/api/agent/jobs/${executionId}/heartbeat`);
  const submit = (executionId: string, result: object) => call('POST', `/api/agent/jobs/${executionId}/result`, result);
  const tokenProblem = (claim: BasicClaim) => problemOf(claim, key);
  const poll = async (limit?: number): Promise<string[]> => {
    const status = { in_flight: 0, max_concurrent: 4 };
    const answer = await call('POST', '/api/agent/poll', {
      capabilities: { scopes: [scope] },
      status,
      limit,
    });
    return answer.body.jobs.map((job: { id: string }) => job.id);
  };
  const claim = (requestId: string) => call('POST', `/api/agent/jobs/${requestId}/claim`);
  const run = async (claimed: BasicClaim): Promise<BasicAnswer> => {
    const problem = tokenProblem(claimed);
    const error = { success: false, error_message: `token verification failed: ${problem}` };
    if (problem !== null) return submit(claimed.execution_id, error);
    const client = new pg.Client({ connectionString: targetUrl });
    await client.connect();
    const beat = setInterval(() => {
      heartbeat(claimed.execution_id).then(
        ({ body }) => (body.cancelled ? cancel(targetUrl, client) : undefined),
        () => {},
      );
    }, heartbeatMs);
    try {
      return await submit(claimed.execution_id, await execute(client, claimed));
    } finally {
      clearInterval(beat);
      await client.end();
    }
  };
  return {
    keyId: published.key_id,
    poll,
    claim,
    heartbeat,
    submit,
    tokenProblem,
    run,
    async work() {
      const ran: string[] = [];
      for (const id of await poll()) {
        const { status, body } = await claim(id);
        if (status !== 200) continue;
        await run(body);
        ran.push(id);
      }
      return ran;
    },
  };
}

/** The checks of the compatible layout, in order. */
function problemOf(claim: BasicClaim, key: KeyObject): string | null {
  const token = JSON.parse(claim.execution_token);
  if (!(Date.parse(token.expires_at) >= Date.now())) return 'token expired';
  for (const name of ['request_id', 'operation', 'database', 'environment'] as const)
    if (token[name] !== claim[name]) return `${name} mismatch`;
  const hash = createHash('sha256')
    .update(claim.execution_plan_json ?? claim.detail)
    .digest('hex');
  if (hash !== token.detail_hash) return 'detail_hash mismatch';
  const { requester_role: role = '', requester_subject_id: subject = '' } = token;
  const values = [claim.request_id, claim.operation, claim.environment, claim.database, hash, token.expires_at, role, subject];
  const good = verify(null, Buffer.from(values.join('|')), key, Buffer.from(token.signature, 'hex'));
  return good ? null : 'signature invalid';
}

async function execute(client: pg.Client, { operation, detail }: BasicClaim): Promise<object> {
  const began = Date.now();
  try {
    const { fields, rows, rowCount } = await client.query(detail);
    const data = operation === 'execute_select' ? { columns: fields.map(({ name }) => name), rows } : { rows_affected: rowCount };
    const affected = operation === 'execute_select' ? null : rowCount;
    const done = { duration_ms: Date.now() - began, rows_affected: affected };
    return { success: true, result_data: JSON.stringify(data), error_message: null, ...done };
  } catch (error) {
    return { success: false, error_message: (error as Error).message, duration_ms: Date.now() - began };
  }
}

async function cancel(targetUrl: string, running: pg.Client): Promise<void> {
  const other = new pg.Client({ connectionString: targetUrl });
  await other.connect();
  const { processID } = running as unknown as { processID: number };
  await other.query('select pg_cancel_backend($1)', [processID]).finally(() => other.end());
}

function ed25519Key(hex: string): KeyObject {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(hex, 'hex').toString('base64url') };
  return createPublicKey({ key: jwk, format: 'jwk' });
}
