import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { permissionsOf, type Route } from '../../api/http/route.js';
import { allRoutes, defaultTimes, readOnlyPaths } from '../../api/routes.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';

const routes = allRoutes(() => Promise.reject(new Error('only described')), defaultTimes);
const pathOf = (route: Route) => route.path.replace(/:[a-z_]+/g, 'some-id');
const name = (route: Route) => `${route.method} ${route.path}`;

const toml = `${shopToml}
[[auth.roles]]
name = "writer-only"
permissions = ["request.dml"]

[[auth.roles]]
name = "reader-of-one"
permissions = ["user.read", "metrics.view", "token.list", "workflow.read"]
databases = ["shop"]
`;

let api: TestApi;
let nobody: string;
let narrow: string;
let limited: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  nobody = await api.createUser('nobody');
  narrow = await api.createUser('narrow', { roles: ['writer-only'] });
  limited = await api.createUser('limited', { roles: ['reader-of-one'] });
});
afterAll(() => api?.close());

describe('who may call what (the 401 and 403 matrix)', () => {
  it('lists what is public (IM-4, HT-2)', () => {
    const open = routes.filter((route) => route.access === 'public').map(name);
    expect(open).toEqual([
      'get /console/requests/:id',
      'get /',
      'post /api/console/session',
      'delete /api/console/session',
      'get /api/console/sign-in',
      'get /api/console/oidc/start',
      'get /api/console/oidc/callback',
      'get /console',
      'get /console/',
      'get /console/:page',
      'get /console/:page/:item',
      'get /console/assets/:file',
      'post /api/slack/interactions',
      'post /api/slack/commands',
      'options /mcp',
      'get /health',
      'get /ready',
    ]);
  });

  const closed = routes.filter((route) => route.access !== 'public');

  it.each(closed.map((route) => [name(route), route] as const))(
    '%s is 401 without a credential, whatever the body (HT-13, IM-3, IM-5)',
    async (_name, route) => {
      const body = route.method === 'get' ? {} : { raw: '{"', headers: { 'content-type': 'text/plain' } };
      const answer = await api.call(route.method.toUpperCase(), pathOf(route), body);
      expect(answer.body).toEqual({
        error: 'invalid token',
        code: 'auth.missing_token',
        hint: 'no token was sent: send it in the header Authorization: Bearer <token>',
      });
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    },
  );

  it.each(closed.map((route) => [name(route), route] as const))('%s is 403 for a user without roles', async (_name, route) => {
    const answer = await api.call(route.method.toUpperCase(), pathOf(route), { token: nobody });
    expect([answer.status, answer.body.code]).toEqual([403, 'auth.no_roles_resolved']);
  });

  it.each(closed.map((route) => [name(route), route] as const))(
    '%s keeps users and agents apart (HT-7, HT-11, IM-6)',
    async (_name, route) => {
      const wrong = route.access === 'agent' ? api.tokens.admin : api.tokens.agent;
      const answer = await api.call(route.method.toUpperCase(), pathOf(route), { token: wrong });
      const error = route.access === 'agent' ? 'agent token required' : 'agent tokens cannot access this endpoint';
      expect([answer.status, answer.body]).toEqual([403, { error, code: 'auth.forbidden', hint: null }]);
    },
  );

  const guarded = closed.filter((route) => permissionsOf(route).length > 0);
  const lacking = (route: Route) => (permissionsOf(route).includes('request.dml') ? limited : narrow);

  it.each(guarded.map((route) => [name(route), route] as const))(
    '%s is 403 without its permission, before the body is looked at (HT-14, HT-I6)',
    async (_name, route) => {
      const body = route.method === 'get' ? {} : { raw: 'x', headers: { 'content-type': 'text/plain' } };
      const answer = await api.call(route.method.toUpperCase(), pathOf(route), { token: lacking(route), ...body });
      expect([answer.status, answer.body]).toEqual([
        403,
        { error: 'forbidden', code: 'auth.forbidden', hint: expect.stringMatching(/^you lack [a-z_.:]+/) },
      ]);
      for (const permission of permissionsOf(route)) expect(answer.body.hint).toContain(permission);
    },
  );

  it.each([
    ['GET', '/api/users'],
    ['GET', '/metrics'],
    ['GET', '/api/roles'],
  ])('%s %s needs its permission everywhere, not in one database (IM-44)', async (method, path) => {
    const answer = await api.call(method, path, { token: limited });
    expect([answer.status, answer.body.code]).toEqual([403, 'auth.forbidden']);
  });

  it.each(readOnlyPaths.flatMap((path) => ['POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, path] as const)))(
    '%s %s is 405 for any user, before permission and body (CF-70)',
    async (method, path) => {
      const answer = await api.call(method, path.replace(/:[a-z]+/, 'none'), {
        token: narrow,
        raw: 'x',
        headers: { 'content-type': 'text/plain' },
      });
      expect([answer.status, answer.body]).toEqual([
        405,
        { error: 'managed in server.toml; edit the file and reload', code: 'config.read_only', hint: null },
      ]);
      expect(answer.headers.has('allow')).toBe(true);
    },
  );
});
