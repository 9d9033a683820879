import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api?.close());

it('answers who the bootstrap admin is', async () => {
  const me = await api.call('GET', '/api/me', { token: api.tokens.admin });
  console.log(me.status, me.text, Object.fromEntries(me.headers));
  expect(me.status).toBe(200);
  for (const p of ['/health', '/ready', '/metrics', '/openapi.json', '/docs', '/docs/swagger-ui.css', '/api/nothing', '/api/roles', '/api/users', '/api/tokens'])
    console.log(p, await api.call('GET', p, { token: api.tokens.admin }).then((a) => [a.status, a.text.slice(0, 300)]));
  console.log(await api.call('GET', '/api/public-key', { token: api.tokens.agent }).then((a) => [a.status, a.text.slice(0, 300)]));
  console.log(await api.createUser('mira', { roles: ['requester'], groups: ['dba-team'] }));
  console.log(api.logged.slice(-5).join(''));
  console.log(api.logged.filter((l) => l.includes('"error"')).join(''));
});
