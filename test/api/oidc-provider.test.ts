import { afterAll, beforeAll, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { oidcToml } from '../support/oidc.js';
import { type RealProvider, startRealProvider } from '../support/real-provider.js';

let provider: RealProvider;
let api: TestApi;
beforeAll(async () => {
  provider = await startRealProvider(['dba-team']);
  api = await startTestApi({ toml: `${shopToml}${oidcToml(provider.issuer)}` });
});
afterAll(async () => {
  await api?.close();
  await provider?.close();
});

it('a person who logged in at a real provider is a user with its name, e-mail and groups (IM-31 to IM-33)', async () => {
  const token = await provider.logIn('paula');
  const { status, body } = await api.call('GET', '/api/me', { token });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    subject_id: 'paula',
    display_name: 'paula of the provider',
    email: 'paula@example.net',
    source: 'oidc',
    groups: ['dba-team'],
    token: null,
  });
  expect((await api.call('GET', '/api/me', { token: await provider.logIn('peter') })).body.subject_id).toBe('peter');
  expect((await api.call('GET', '/api/me', { token: await provider.logIn('admin') })).body.code).toBe('auth.oidc_failed');
});
