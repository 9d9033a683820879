import { afterAll, beforeAll, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { goodClaims, type Key, makeKey, oidcToml, startFakeProvider } from '../support/oidc.js';
import { rawCall, signedIn } from './console-calls.js';

const mapping = '[[auth.oidc.role_mappings]]\nclaim = "team"\nvalue = "root"\nrole = "admin"\n';

let provider: Awaited<ReturnType<typeof startFakeProvider>>;
let key: Key;
let api: TestApi;
let cookie: string;
beforeAll(async () => {
  provider = await startFakeProvider();
  key = await makeKey('RS256', 'k1');
  provider.keys(key.jwk);
  api = await startTestApi({ toml: `${shopToml}${oidcToml(provider.issuer, mapping)}` });
  await api.createUser('standby', { roles: ['admin'] });
  cookie = await signedIn(api, await key.sign(goodClaims(provider.issuer, { team: 'root' })));
});
afterAll(async () => {
  await api?.close();
  await provider?.close();
});

/** What a server with this `server.toml` answers the session. */
async function answered(toml: string) {
  const other = await api.another({ toml: `${shopToml}${toml}` });
  const { status, body, headers } = await rawCall(other, 'GET', '/api/users', { headers: { cookie } });
  await other.close();
  return { status, code: body.code, cleared: String(headers['set-cookie'] ?? '').includes('Max-Age=0') };
}

const withoutPlan = (toml: string) => toml.replace(/^\[license\][^[]*/, '');

it.each([
  ['once there is no provider any more', () => '', 'auth.oidc_not_configured'],
  ['once the plan has none', () => withoutPlan(oidcToml(provider.issuer, mapping)), 'auth.oidc_not_configured'],
  ['once the provider is another', () => oidcToml('http://127.0.0.1:1', mapping), 'auth.oidc_failed'],
  ['once the mapping of its role is gone', () => oidcToml(provider.issuer), 'auth.oidc_failed'],
  ['once groups are read elsewhere', () => oidcToml(provider.issuer, `groups_claim = "teams"\n${mapping}`), 'auth.oidc_failed'],
])('a session that an ID token made ends as the token does, %s (CO-11, IM-30)', async (_when, toml, code) => {
  expect(await answered(toml())).toEqual({ status: 401, code, cleared: true });
});

async function inspected(toml: string) {
  const { tokens } = (await api.call('GET', '/api/tokens', { token: api.tokens.admin })).body;
  const { id } = tokens.find(({ name }: { name: string | null }) => name === 'console');
  const other = await api.another({ toml: `${shopToml}${toml}` });
  const { status, body } = await other.call('GET', `/api/tokens/${id}/inspect`, { token: api.tokens.admin });
  await other.close();
  return [status, body.resolved_roles, body.effective_roles];
}

it('the inspection of its session names the roles that the provider gives (IM-74)', async () => {
  expect(await inspected(oidcToml(provider.issuer, mapping))).toEqual([200, ['admin'], ['admin']]);
});

it('and none once the session has ended with the mapping (IM-74, CO-11)', async () => {
  expect(await inspected(oidcToml(provider.issuer))).toEqual([200, [], []]);
});

it('and lasts while the token is judged as it was (CO-11)', async () => {
  expect((await answered(oidcToml(provider.issuer, mapping))).status).toBe(200);
  const others = 'client_secret = "new-secret-of-the-client"\nscopes = "openid email"\ndefault_role = "requester"\n';
  expect((await answered(oidcToml(provider.issuer, `${others}${mapping}`))).status).toBe(200);
});
