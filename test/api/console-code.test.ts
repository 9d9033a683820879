import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { cookieOf, fromOwnPage, rawCall, setCookieOf, signedIn } from './console-calls.js';

let api: TestApi;
let rita: string;
beforeAll(async () => {
  api = await startTestApi();
  rita = await api.createUser('rita', { roles: ['requester', 'approver'] });
});
afterAll(() => api?.close());

const make = (token: string) => api.call('POST', '/api/console/code', { token });
const exchange = (code: unknown, more: object = {}, headers: Record<string, string> = fromOwnPage) =>
  rawCall(api, 'POST', '/api/console/session', { headers, body: { code, ...more } });
const me = (cookie: string) => rawCall(api, 'GET', '/api/me', { headers: { cookie } });
const sql = (text: string, values: unknown[] = []) => api.services.database.query<Record<string, unknown>>(text, values);

const used = {
  error: 'invalid token',
  code: 'auth.invalid_token',
  hint: 'the link was used already, or is older than a minute: svc console makes another',
};

describe('a code that signs a browser in (CO-33)', () => {
  it('does so once, as the user of the token that made it, and is stored as a hash', async () => {
    const { status, body } = await make(rita);
    expect([status, body.code]).toEqual([201, expect.stringMatching(/^[\w-]{43}$/)]);
    expect(JSON.stringify(await sql('select * from console_codes'))).not.toContain(body.code);
    const first = await exchange(body.code);
    expect([first.status, (await me(cookieOf(first))).body.subject_id]).toEqual([204, 'rita']);
    const second = await exchange(body.code);
    expect([second.status, second.body, setCookieOf(second)]).toEqual([401, used, '']);
  });

  it('of several exchanges at once lets in one', async () => {
    const { code } = (await make(rita)).body;
    const other = await api.another();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        rawCall(index % 2 ? api : other, 'POST', '/api/console/session', { headers: fromOwnPage, body: { code } }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 401, 401, 401, 401, 401, 401, 401]);
    await other.close();
  });

  it('is good for a minute', async () => {
    const { body } = await make(rita);
    expect(Date.parse(body.expires_at) - Date.now()).toBeLessThanOrEqual(60_000);
    await sql(`update console_codes set expires_at = clock_timestamp() - interval '1 ms'`);
    expect((await exchange(body.code)).body).toEqual(used);
    await make(rita);
    expect(await sql('select count(*)::int as count from console_codes')).toEqual([{ count: 1 }]);
  });

  it('gives what its token gives: no wider, no longer, and nothing once that has ended', async () => {
    const expiresAt = new Date(Date.now() + 120_000).toISOString();
    const own = { subject_id: 'rita', subject_type: 'user', scope_ceiling: { roles: ['approver'] }, expires_at: expiresAt };
    const narrow = (await api.call('POST', '/api/tokens', { token: rita, body: own })).body;
    const [first, second, third] = [await make(narrow.token), await make(narrow.token), await make(narrow.token)];
    const cookie = cookieOf(await exchange(first.body.code));
    expect((await me(cookie)).body).toMatchObject({ roles: [{ name: 'approver' }], token: { expires_at: expiresAt } });
    await sql(`update users set status = 'suspended' where id = 'rita'`);
    expect((await exchange(second.body.code)).body.code).toBe('auth.user_suspended');
    await sql(`update users set status = 'active' where id = 'rita'`);
    await api.call('DELETE', `/api/tokens/${narrow.id}`, { token: rita });
    expect((await exchange(third.body.code)).body.code).toBe('auth.invalid_token');
    expect((await me(cookie)).status).toBe(401);
  });

  it('is made by a token of a user only', async () => {
    const cookie = await signedIn(api, rita);
    const bySession = await rawCall(api, 'POST', '/api/console/code', { headers: { cookie, ...fromOwnPage } });
    expect([bySession.status, bySession.body.hint]).toEqual([403, 'a code is made with a token, not by a session']);
    expect((await make(api.tokens.agent)).status).toBe(403);
  });

  it('keeps twenty of a user at most', async () => {
    const first = (await make(rita)).body.code;
    for (let count = 0; count < 20; count += 1) await make(rita);
    expect((await exchange(first)).status).toBe(401);
    expect(await sql(`select count(*)::int as count from console_codes where user_id = 'rita'`)).toEqual([{ count: 20 }]);
  });

  it.each([
    ['another text', 'x'.repeat(43), {}, 401],
    ['control characters', 'a\u0001\r\n', {}, 401],
    ['nothing', '', {}, 400],
    ['no text', 5, {}, 400],
    ['too long a text', 'x'.repeat(201), {}, 400],
    ['a code and a token', 'x'.repeat(43), { token: 'svc_00000000000000000000000000000000' }, 400],
  ])('with %s lets nobody in', async (_what, code, more, status) => {
    const answer = await exchange(code, more);
    expect([answer.status, setCookieOf(answer)]).toEqual([status, '']);
  });

  it('wrong codes count as failures, and pages of other sites cannot use one', async () => {
    const { code } = (await make(rita)).body;
    expect((await exchange('x'.repeat(43))).status).toBe(401);
    expect((await exchange(code, {}, { origin: 'https://evil.example' })).body.hint).toBe('cross-site call');
    expect((await exchange(code)).status).toBe(204);
    const [{ reason } = { reason: null }] = await sql(
      `select metadata_json::jsonb->>'failure_reason' as reason from audit_events where event_type = 'auth.failure' order by position desc limit 1`,
    );
    expect(reason).toBe('console_code');
  });
});
