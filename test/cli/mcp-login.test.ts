import type { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeCall, FakeReply } from '../support/fake-api.js';
import { claimsOf, type LoginPlace, openLoginPlace } from './login-place.js';
import { runSvc } from './run-svc.js';

let place: LoginPlace;
/** By how much the clock of `svc mcp` is ahead. Tokens live an hour, and are renewed in its last 5 min. */
let aheadMs: number;
beforeEach(async () => {
  aheadMs = 0;
  place = await openLoginPlace();
  place.api.on('POST /mcp', answerOf).on('DELETE /mcp', { status: 200 });
});
afterEach(() => place.close());

/** A server of MCP that answers every request with nothing. */
function answerOf({ body }: FakeCall): FakeReply {
  const { id, method } = JSON.parse(body);
  if (id === undefined) return { status: 202 };
  const result = method === 'initialize' ? { protocolVersion: '2025-06-18', capabilities: {} } : {};
  const headers: Record<string, string> = method === 'initialize' ? { 'mcp-session-id': 's' } : {};
  return { body: { jsonrpc: '2.0', id, result }, headers };
}

const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
const pinged = (id: number) => place.api.bodies('POST /mcp').some((body) => body.method === 'ping' && body.id === id);
const renewals = () => place.provider.grants.filter((grant) => grant.endsWith('refresh_token'));

/** Runs `svc mcp` with nothing but the login, while `play` is its client. */
async function withLogin(play: (send: (message: object) => void, log: () => string) => Promise<void>) {
  let played = Promise.resolve();
  const run = runSvc(['--config', place.config, 'mcp'], {
    environment: { XDG_CONFIG_HOME: place.home },
    now: () => Date.now() + aheadMs,
    started: ({ stdin, stderr }: { stdin: PassThrough; stderr(): string }) => {
      const send = (message: object) => void stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      played = play(send, stderr).finally(() => stdin.end());
      played.catch(() => {});
    },
  });
  const { code, stdout, stderr } = await run;
  await played;
  return {
    code,
    stderr,
    stdout,
    answers: stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line)),
  };
}

describe('svc mcp with a login of svc login (CL-43, CL-47)', () => {
  it('sends its token, and renews it in the middle of a session', async () => {
    await place.logIn();
    const [before] = place.stored();
    const { code, answers, stdout, stderr } = await withLogin(async (send) => {
      send({ id: 0, method: 'initialize', params });
      send({ method: 'notifications/initialized' });
      send({ id: 1, method: 'ping' });
      await expect.poll(() => pinged(1)).toBe(true);
      aheadMs = 57 * 60_000;
      send({ id: 2, method: 'ping' });
      await expect.poll(() => pinged(2)).toBe(true);
      aheadMs = 0;
      send({ id: 3, method: 'ping' });
      await expect.poll(() => pinged(3)).toBe(true);
    });
    expect(code).toBe(0);
    expect(answers.map(({ id }) => id).toSorted()).toEqual([0, 1, 2, 3]);
    expect(answers.every(({ error }) => error === undefined)).toBe(true);
    expect(renewals()).toEqual(['refresh_token']);
    const [after] = place.stored();
    const sent = (id: number) => {
      const call = place.api.calls.find(({ path, body }) => path === '/mcp' && body !== '' && JSON.parse(body).id === id);
      return call?.headers.authorization?.slice(7);
    };
    expect([sent(1), sent(2), sent(3)]).toEqual([before!.token, after!.token, after!.token]);
    expect(claimsOf(place.api.calls.at(-1)!.headers.authorization!)).toMatchObject({ sub: 'alice', aud: 'svc' });
    for (const secret of [before!.token, before!.refresh_token!, after!.token, after!.refresh_token!])
      expect(stdout + stderr).not.toContain(secret);
  });

  it('says when the login has ended, and goes on after the next one (CL-49)', async () => {
    await place.logIn();
    const { code, answers } = await withLogin(async (send, log) => {
      send({ id: 0, method: 'initialize', params });
      send({ id: 1, method: 'ping' });
      await expect.poll(() => pinged(1)).toBe(true);
      await place.provider.revoke('alice');
      aheadMs = 61 * 60_000;
      send({ id: 2, method: 'ping' });
      await expect.poll(log).toContain('a call was not forwarded: auth_error');
      await place.logIn();
      send({ id: 3, method: 'ping' });
      await expect.poll(() => pinged(3)).toBe(true);
    });
    expect(code).toBe(0);
    expect(answers.find(({ id }) => id === 2).error).toMatchObject({
      code: -32603,
      data: { code: 'auth_error', hint: 'svc login' },
    });
    expect(answers.find(({ id }) => id === 3).result).toEqual({});
    expect(place.api.calls.at(-1)?.headers.authorization).toBe(`Bearer ${place.stored()[0]!.token}`);
  });

  it('does not begin without one', async () => {
    const { code, stdout, stderr } = await withLogin(async () => {});
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`svc --config ${place.config} login`);
    expect(place.api.calls).toEqual([]);
  });
});
