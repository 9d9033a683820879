import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { table } from '../support/snapshots.js';
import { databaseToml, dbaTeamToml, roleToml, workflowToml } from '../support/toml.js';
import { type AgentCalls, type Body, pollBody, scope, startAgentApi } from './agent-calls.js';

const policies = (database: string) => `
[[execution_policies]]
database = "${database}"
max_rows = 7

[[result_policies]]
database = "${database}"
retention_days = 5

[[sql_review]]
database = "${database}"
drop_index = "block"
`;
const toml = [
  '[preflight]\nmax_explain_timeout_ms = 100\nrate_limit_per_minute = 60\n',
  databaseToml('shop', ['staging', 'lab', 'hidden-production']),
  databaseToml('hidden-ledger', ['staging', 'hidden-area']),
  dbaTeamToml,
  roleToml('narrow', ['request.preflight', 'request.query', 'request.view', 'workflow.read'], {
    databases: ['shop'],
    environments: ['staging', 'lab', 'absent'],
  }),
  workflowToml({ environment: 'staging', auto: '{ mode = "always" }' }),
  workflowToml({ database: 'hidden-ledger', auto: '{ mode = "always" }' }),
  workflowToml({ environment: 'hidden-production', steps: [[{ group: 'dba-team' }]] }),
  policies('hidden-ledger'),
].join('\n');

let api: TestApi;
let calls: AgentCalls;
let narrow: string;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml }));
  narrow = await api.createUser('nina', { roles: ['narrow'] });
});
afterAll(() => api?.close());
beforeEach(() => calls.sql('with jobs as (delete from preflight_jobs) delete from agents'));

const ask = (over: Body = {}, token = calls.requester) =>
  api.call('POST', '/api/preflight', {
    token,
    body: { database: 'shop', environment: 'staging', sql: 'select * from parts', ...over },
  });
const mismatch = { operation: 'execute_dml' };

describe('the checks of a preflight, in their order', () => {
  it.each<[string, Body, (string | number)[]]>([
    ['PF-1 before PF-2', { database: 'hidden-ledger', sql: 5 }, [400, 'validation.failed', 'body.sql']],
    ['PF-2 before PF-4', { environment: 'nowhere' }, [403, 'auth.forbidden']],
    ['PF-4 before PF-5', { environment: 'absent', sql: '' }, [400, 'validation.failed', 'shop/absent is not registered']],
    ['PF-4 before PF-6', { environment: 'absent', sql: 'commit' }, [400, 'validation.failed', 'shop/absent is not registered']],
    ['PF-5 before PF-7', { sql: ';', ...mismatch }, [400, 'validation.failed', 'body.sql']],
    ['PF-5 before PF-8', { environment: 'lab', sql: '' }, [400, 'validation.failed', 'body.sql']],
    ['PF-6 before PF-7', { sql: 'commit', ...mismatch }, [200, 'rejected', 'transaction control: COMMIT']],
    ['PF-7 before PF-8', { environment: 'lab', ...mismatch }, [400, 'validation.failed', 'body.operation']],
    ['PF-8', { environment: 'lab' }, [200, 'rejected', 'no workflow matches this database, environment and operation']],
  ])('%s', async (_what, over, expected) => {
    const { status, body } = await ask(over, narrow);
    const [finding] = body.review?.findings ?? [];
    const told = [status, body.code ?? finding.code, body.error, body.hint, finding?.message];
    expect(told.slice(0, 2)).toEqual(expected.slice(0, 2));
    expect(told).toEqual(expect.arrayContaining(expected));
  });

  it('PF-9: an EXPLAIN that is not wanted, not allowed or not possible counts for nothing', async () => {
    await calls.sql(
      `insert into preflight_jobs (user_id, database, environment, sql, timeout_ms, expires_at)
       select 'rita', 'shop', 'staging', '', 1, clock_timestamp() + interval '1 minute' from generate_series(1, 3)`,
    );
    await calls.known(pollBody({ limit: 0 }));
    expect((await ask()).body.code).toBe('rate.limited');
    for (const over of [{ include_explain: false }, { sql: 'show all' }, { sql: 'commit' }, { explain_timeout_ms: 0 }])
      expect((await ask(over)).status).toBe(200);
    expect((await ask({}, narrow)).body.impact).toEqual({ status: 'skipped' });
  });

  it('PF-10: equal calls give equal answers, and leave nothing that changes the next', async () => {
    for (const sql of ['select * from parts', 'delete from parts', 'drop index i', 'commit', 'selec 1']) {
      const answers = [await ask({ sql }), await ask({ sql }), await ask({ sql })].map(({ text }) => text);
      expect(new Set(answers).size).toBe(1);
    }
  });
});

describe('the plan of a preflight', () => {
  it.each([101, 2 ** 31, 2 ** 53 + 2, 1e300])(
    'is waited for no longer than the server allows: %s is cut down',
    async (wanted) => {
      await calls.known(pollBody({ limit: 0 }));
      const answer = await ask({ explain_timeout_ms: wanted });
      expect([answer.status, answer.body.impact]).toEqual([200, { status: 'timeout' }]);
      expect(await calls.sql('select timeout_ms, state from preflight_jobs')).toEqual([{ timeout_ms: 100, state: 'expired' }]);
    },
  );
});

describe('PF-I4: nobody learns of names outside their roles', () => {
  const get = (path: string, token = narrow) => api.call('GET', `/api/${path}`, { token });
  const pairs: [string, string][] = [
    ['hidden-ledger', 'staging'],
    ['hidden-ledger', 'hidden-area'],
    ['shop', 'hidden-production'],
  ];
  const resolution = (database: string, environment: string) =>
    get(`policy-resolution?database=${database}&environment=${environment}`);

  beforeAll(async () => {
    const scopes = pairs.map(([database, environment]) => scope(database, environment));
    const agent = await calls.known(pollBody({ limit: 0 }, { scopes }));
    for (const [database, environment] of pairs) {
      const snapshot = { tables: [table('hidden_table')] };
      const report = { database, environment, dialect: 'postgresql', status: 'ready', snapshot };
      expect((await agent.post('schema-sync', report)).status).toBe(200);
    }
  });

  it.each([
    'workflows',
    'execution-policies',
    'result-policies',
    'sql-review-policies',
    'databases',
    'policy-resolution?database=shop&environment=staging',
    'policy-resolution?database=shop&environment=absent',
    'schemas/shop',
    'schemas/shop?environment=staging',
    'schemas/shop?environment=absent',
  ])('not from GET /api/%s', async (path) => {
    expect((await get(path)).text).not.toContain('hidden');
    expect((await get(path, api.tokens.admin)).status).not.toBe(403);
  });

  it('not from a preflight of what they may ask for', async () => {
    for (const over of [
      {},
      { environment: 'absent' },
      { environment: 'lab' },
      { sql: 'select * from hidden_table' },
      { sql: 'commit' },
    ]) {
      const { text } = await ask(over, narrow);
      expect(text.replaceAll('hidden_table', '')).not.toContain('hidden');
    }
  });

  it.each(pairs)('what %s/%s is answered, a name that does not exist is answered too', async (database, environment) => {
    const other = (name: string) => (name.startsWith('hidden') ? 'nowhere' : name);
    const asked = async (one: string, two: string) => {
      const answers = await Promise.all([
        ask({ database: one, environment: two }, narrow),
        ask({ database: one, environment: two, sql: '' }, narrow),
        resolution(one, two),
        get(`schemas/${one}?environment=${two}`),
        get(`schemas/${one}?environment=${two}&table=hidden_table`),
      ]);
      // The pair that the call itself named may stand in the hint.
      return answers.map(({ status, text }) => [status, text.replaceAll(`${one}/${two}`, 'the pair named')]);
    };
    const [there, absent] = [await asked(database, environment), await asked(other(database), other(environment))];
    expect(there).toEqual(absent);
    expect(there.map(([status]) => status)).toEqual([403, 403, 403, 403, 403]);
  });

  it.each([
    ['workflows', 'wf:hidden-ledger:*:e3b0c44298fc'],
    ['workflows', 'wf:*:hidden-production:e3b0c44298fc'],
    ['execution-policies', 'ep:hidden-ledger:*'],
    ['result-policies', 'rp:hidden-ledger:*'],
    ['sql-review-policies', 'srp:hidden-ledger:any'],
  ])('an item of /api/%s that is there (%s) is answered as one that is not', async (list, id) => {
    expect((await get(`${list}/${id}`, api.tokens.admin)).status).toBe(200);
    const [there, absent] = [await get(`${list}/${id}`), await get(`${list}/${id.replaceAll('hidden', 'nowhere')}`)];
    expect([there.status, there.body]).toEqual([absent.status, absent.body]);
    expect(there.status).toBe(404);
  });
});
