import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';
import { created, paths, requestId, shown, twoRows } from './samples.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

const me = { body: { subject_id: 'alice', roles: [{ name: 'requester' }], groups: ['team'] } };

describe('calling the server', () => {
  it('repeats a creation whose answer was lost with the same key, so that one request exists (CL-20, CL-I4)', async () => {
    api.on(paths.create, { drop: true }, { status: 503, body: 'busy' }, created('dispatched'));
    api.on(paths.stream, { body: twoRows }).on(paths.show, shown('executed'));
    const result = await runSvc(['execute', 'SELECT 1'], { environment: login(api.url) });
    expect(result.code).toBe(0);
    const keys = api.bodies(paths.create).map((body) => body.idempotency_key);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  it('prints the key when nobody knows whether the request exists', async () => {
    api.on(paths.create, { drop: true });
    const result = await runSvc(['execute', 'SELECT 1', '--json'], { environment: login(api.url) });
    const key = api.bodies(paths.create)[0]!.idempotency_key;
    expect(JSON.parse(result.stdout).error).toMatchObject({ code: 'network_error' });
    expect(JSON.parse(result.stdout).error.hint).toContain(`--idempotency-key ${key}`);
  });

  it('prints it too when a proxy or the server fails, which may be after the request was made (CL-I4)', async () => {
    const internal = { error: 'internal server error', code: 'internal', hint: 'request id 7' };
    for (const [reply, code] of [
      [{ status: 504, body: '<html>' }, 'server_error'],
      [{ status: 200, body: '<html>' }, 'server_error'],
      [{ status: 503, body: { ...internal, code: 'service.unavailable' } }, 'service.unavailable'],
      [{ status: 500, body: internal }, 'internal'],
    ] as const) {
      api.calls.length = 0;
      api.on(paths.create, reply);
      const { error } = JSON.parse((await runSvc(['execute', 'SELECT 1', '--json'], { environment: login(api.url) })).stdout);
      expect(error.code).toBe(code);
      expect(error.hint).toContain(`--idempotency-key ${api.bodies(paths.create)[0]!.idempotency_key}`);
    }
    const refused = { error: 'detail must not be empty', code: 'validation.failed', hint: null };
    api.on(paths.create, { status: 400, body: refused });
    const { error } = JSON.parse((await runSvc(['execute', 'SELECT 1', '--json'], { environment: login(api.url) })).stdout);
    expect(error).toEqual({ code: 'validation.failed', message: expect.any(String), hint: null });
  });

  it('says which part of the address is too much where the gateway knows no such path', async () => {
    const noPath = { status: 404, body: { error: 'no such path', code: 'route.not_found', hint: null } };
    api.on('GET /api/api/me', noPath).on('GET /api/me', noPath);
    const hintAt = async (url: string) =>
      JSON.parse((await runSvc(['whoami', '--json'], { environment: login(url) })).stdout).error.hint;
    expect(await hintAt(`${api.url}/api/`)).toBe(
      'leave out /api in [server] url of svc.toml, or SVC_SERVER_URL, unless a proxy serves the gateway there',
    );
    expect(await hintAt(api.url)).toBeNull();
  });

  it('names the request and how to go on when a server or a proxy fails on the way, or the credential ends (CL-22)', async () => {
    api.on(paths.create, created('dispatched')).on(paths.stream, { drop: true });
    for (const [reply, code] of [
      [{ status: 502, body: '<html>' }, 'server_error'],
      [{ status: 503, body: { error: 'the server ends', code: 'service.draining', hint: null } }, 'service.draining'],
      [{ status: 500, body: { error: 'internal server error', code: 'internal', hint: 'request id 7' } }, 'internal'],
      [{ status: 401, body: { error: 'token expired', code: 'auth.token_expired', hint: null } }, 'auth.token_expired'],
    ] as const) {
      api.on(paths.show, reply);
      for (const [command, again] of [
        [['execute', 'SELECT 1'], 'wait'],
        [['request', 'watch', requestId], 'watch'],
      ] as const) {
        const result = await runSvc([...command, '--json'], { environment: login(api.url) });
        const { error, request_id: id } = JSON.parse(result.stdout);
        expect({ code: result.code, told: error.code, id }).toEqual({ code: 1, told: code, id: requestId });
        expect(error.hint).toContain(`the request continues: svc request ${again} ${requestId}`);
      }
    }
    api.on(paths.show, { status: 404, body: { error: 'no such request', code: 'request.not_found', hint: null } });
    const gone = await runSvc(['request', 'watch', requestId, '--json'], { environment: login(api.url) });
    expect(JSON.parse(gone.stdout).error).toMatchObject({
      code: 'request.not_found',
      hint: 'svc request list shows those that you can see',
    });
  });

  it('tries a read three times on 502, 503 and 504, and a decision once (CL-10)', async () => {
    api.on('GET /api/me', { status: 502, body: 'x' }, { status: 504, body: 'x' }, me);
    expect((await runSvc(['whoami'], { environment: login(api.url) })).code).toBe(0);
    api.on(paths.approve, { drop: true });
    await runSvc(['request', 'approve', '4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11', '--json'], { environment: login(api.url) });
    expect(api.calls.filter((call) => call.path.endsWith('/approve'))).toHaveLength(1);
  });

  it('says of a token that is refused where it comes from, and who makes a new one', async () => {
    const refused = (error: string, code: string) => ({ status: 401, body: { error, code, hint: null } });
    const next = 'an administrator makes a new one: svc user reissue-initial-token ID';
    api.on('GET /api/me', refused('invalid token', 'auth.invalid_token'), refused('token expired', 'auth.token_expired'));
    const whoami = async () => (await runSvc(['whoami'], { environment: login(api.url) })).stderr;
    const invalid = `hint: the token of SVC_TOKEN is wrong, was revoked, or is of another server; ${next}\n`;
    expect(await whoami()).toBe(`error: whoami: invalid token\n${invalid}`);
    expect(await whoami()).toBe(`error: whoami: token expired\nhint: the token of SVC_TOKEN has expired; ${next}\n`);
  });

  it('waits for Retry-After on 429 (CL-10)', async () => {
    api.on('GET /api/me', { status: 429, headers: { 'retry-after': '0' }, body: {} }, me);
    expect((await runSvc(['whoami'], { environment: login(api.url) })).code).toBe(0);
  });

  it('gives up after the time of a call and says so', async () => {
    api.on('GET /api/me', { hang: true });
    const result = await runSvc(['whoami', '--json'], { environment: login(api.url), limits: { callMs: 50 } });
    expect(JSON.parse(result.stdout).error).toMatchObject({
      code: 'network_error',
      message: expect.stringContaining('no answer within 0.05 s'),
    });
    expect(result.code).toBe(1);
  });

  it('never follows a redirect (CL-06)', async () => {
    const other = await startFakeApi();
    api.on('GET /api/me', { status: 302, headers: { location: `${other.url}/api/me` } });
    const result = await runSvc(['whoami', '--json'], { environment: login(api.url) });
    expect(JSON.parse(result.stdout).error.code).toBe('server_error');
    expect(other.calls).toHaveLength(0);
    await other.close();
  });

  it('shows an answer that is no JSON cut to 200 characters, without control characters', async () => {
    api.on('GET /api/me', { status: 500, body: `\u001b[2J<html>${'x'.repeat(500)}` });
    const result = await runSvc(['whoami'], { environment: login(api.url) });
    expect(result.stderr).not.toContain('\u001b');
    expect(result.stderr.length).toBeLessThan(300);
    api.on('GET /api/me', { body: '<!doctype html>' });
    expect((await runSvc(['whoami'], { environment: login(api.url) })).stderr).toContain('hint: is this the gateway?');
  });

  it('warns once at the end when the server is of another version, not for a patch (CL-11)', async () => {
    const newer = await startFakeApi('0.2.0');
    newer.on('GET /api/me', me);
    const result = await runSvc(['whoami'], { environment: login(newer.url) });
    expect(result.stderr.match(/warning:/g)).toHaveLength(1);
    await newer.close();
    const patched = await startFakeApi('0.1.7');
    patched.on('GET /api/me', me);
    expect((await runSvc(['whoami', '--json'], { environment: login(patched.url) })).stdout).not.toContain('warnings');
    await patched.close();
  });

  it('names the local login when the server is away, and fails', async () => {
    const gone = await startFakeApi();
    await gone.close();
    const result = await runSvc(['whoami', '--json'], { environment: login(gone.url) });
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout)).toMatchObject({
      ok: false,
      data: { local: true, credential: 'SVC_TOKEN' },
      error: { code: 'network_error' },
    });
  });

  it('keeps a path prefix of the address and trims its slashes (HT-131)', async () => {
    api.on('GET /gate/api/me', me);
    expect((await runSvc(['whoami'], { environment: { ...login(api.url), SVC_SERVER_URL: `${api.url}/gate//` } })).code).toBe(0);
  });
});
