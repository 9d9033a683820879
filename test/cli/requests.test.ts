import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';
import { conflict, paths, requestId, shown, twoRows } from './samples.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

const svc = (...argv: string[]) => runSvc(argv, { environment: login(api.url) });
const page = (...ids: string[]) => ({
  body: {
    requests: ids.map((id) => ({ ...shown('pending').body, id, next_approvers: ['group:dba-team'] })),
    total: ids.length,
    limit: 100,
    offset: 0,
  },
});
const other = 'aa0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11';

describe('request ids (CL-27)', () => {
  it('takes 36 characters as they are and searches shorter ones', async () => {
    api
      .on(paths.show, shown('pending'))
      .on(paths.list, page(other, requestId))
      .on(paths.executions, { body: { executions: [] } });
    expect((await svc('request', 'show', requestId, '--json')).code).toBe(0);
    expect(api.calls).toHaveLength(1);
    expect((await svc('request', 'show', '4F0C', '--json')).code).toBe(0);
    expect(api.calls[1]!.query.get('limit')).toBe('100');
  });

  it('shows an approver the MCP client that asked, by its own word (CL-31)', async () => {
    const asked = async (metadata: unknown) => {
      api.on(paths.show, shown('pending', { metadata })).on(paths.executions, { body: { executions: [] } });
      return (await svc('request', 'show', requestId)).stdout;
    };
    expect(await asked({ source: 'mcp', client: 'agent\u001b[2J 1.0' })).toMatch(/asked by +an MCP client: agent.*1\.0\n/);
    expect(await asked({ source: 'mcp', client: 'agent\u001b[2J 1.0' })).not.toContain('\u001b[2J');
    for (const metadata of [{}, { source: 'slack' }, 'mcp', null, []]) expect(await asked(metadata)).not.toContain('asked by');
  });

  it('says that none fits, or that several do, with their list', async () => {
    const twin = `4f0c${requestId.slice(4, -1)}2`;
    api.on(paths.list, page(requestId, twin));
    const several = JSON.parse((await svc('request', 'show', '4f0c', '--json')).stdout);
    expect(several.error).toMatchObject({ code: 'ambiguous', hint: `${requestId}\n${twin}` });
    const none = await svc('request', 'show', 'ffff', '--json');
    expect(JSON.parse(none.stdout).error.code).toBe('not_found');
    expect(none.code).toBe(1);
  });

  it('shows a total as it is counted, and an estimate as such', async () => {
    const note = async (total: object) => {
      api.on(paths.list, { body: { ...page(requestId, other).body, ...total } });
      return (await svc('request', 'list')).stderr.trim();
    };
    expect(await note({ total: 12_345, total_is_estimate: false })).toBe('2 of 12345');
    expect(await note({ total: 12_345 })).toBe('2 of 12345');
    expect(await note({ total: 1_234_567, total_is_estimate: true })).toBe('2 of about 1,200,000');
    expect(await note({ total: 10_001, total_is_estimate: true })).toBe('2 of about 10,000');
  });

  it('looks through at most 10 pages of 100', async () => {
    const full = page(
      ...Array.from({ length: 100 }, (_, index) => `${String(index).padStart(8, 'b')}-0000-4000-8000-000000000000`),
    );
    api.on(paths.list, full);
    await svc('request', 'show', 'ffff');
    expect(api.calls.map((call) => call.query.get('offset'))).toEqual([
      '0',
      '100',
      '200',
      '300',
      '400',
      '500',
      '600',
      '700',
      '800',
      '900',
    ]);
  });
});

describe('request list and show', () => {
  it('cuts a long text on a terminal only, and says so there (CL-14)', async () => {
    const detail = `select ${'x'.repeat(300)}`;
    api.on(paths.list, { body: { requests: [{ ...shown('executed').body, detail }], total: 1, limit: 50, offset: 0 } });
    const piped = await svc('request', 'list');
    expect([piped.stdout.includes(detail), piped.stderr]).toEqual([true, '1 of 1\n']);
    const onScreen = await runSvc(['request', 'list', '--no-color'], { environment: login(api.url), terminal: true });
    expect(onScreen.stdout).toMatch(/ {2}select x{5,}\.\.\.\n/);
    expect(onScreen.stdout.split('\n').every((line) => line.length <= 100)).toBe(true);
    expect(onScreen.stderr).toBe('1 of 1\nwhat ends in ... is cut to fit; --json has all of it, and so has a pipe\n');
    api.on(paths.list, {
      body: { requests: [{ ...shown('executed').body, detail: 'select 1' }], total: 1, limit: 50, offset: 0 },
    });
    expect((await runSvc(['request', 'list', '--no-color'], { environment: login(api.url), terminal: true })).stderr).toBe(
      '1 of 1\n',
    );
  });

  it('says that there are none only if there are none, not on a page beyond the last', async () => {
    const note = async (total: number) => {
      api.on(paths.list, { body: { requests: [], total, limit: 50, offset: 40 } });
      return (await svc('request', 'list', '--offset', '40')).stderr;
    };
    expect([await note(2), await note(0)]).toEqual(['0 of 2\n', 'no requests\n']);
  });

  it('filters by database only when it is given as an option', async () => {
    api.on(paths.list, page(requestId));
    await svc('request', 'list', '--pending-for-me', '--decided-by-me', '--user', 'a&b');
    await svc('request', 'list', '-d', 'shop');
    expect(api.calls[0]!.query.get('database')).toBeNull();
    expect(api.calls[0]!.query.get('user')).toBe('a&b');
    expect(api.calls[0]!.query.get('pending_for_me')).toBe('true');
    expect(api.calls[0]!.query.get('decided_by_me')).toBe('true');
    expect(api.calls[1]!.query.get('database')).toBe('shop');
  });

  it('shows whose turn it is, who has decided, the digest and the runs (CL-31)', async () => {
    const executions = [
      {
        id: 'e',
        status: 'failed',
        agent_id: 'agent-1',
        fence: 3,
        created_at: '2026-05-01T09:20:01.500Z',
        error_message: 'boom\u001b[31m',
        duration_ms: 12,
      },
    ];
    api.on(paths.show, shown('pending')).on(paths.executions, { body: { executions } });
    const { stdout, code } = await svc('request', 'show', requestId);
    expect(code).toBe(0);
    for (const text of [
      'pending, waits for group:dba-team',
      'bob approved for group:backend-team',
      'group:dba-team 0/1',
      '20c587fe',
      'needs approval: the policy approves nothing automatically\n',
      'boom\\u001b[31m',
      'users',
      '12 ms',
    ])
      expect(stdout).toContain(text);
    expect(stdout).not.toContain('\u001b');
  });

  it('refuses a status that is none before it asks, and names those there are', async () => {
    const { code, stderr } = await svc('request', 'list', '--status', 'foo');
    expect([code, api.calls.length]).toEqual([2, 0]);
    expect(stderr).toContain('pending, approved, ');
  });

  it('says of steps that will not be decided why, and parts labels from values (CL-31)', async () => {
    const told = async (status: string, more: object = {}) => {
      api.on(paths.show, shown(status, more)).on(paths.executions, { body: { executions: [] } });
      return (await svc('request', 'show', requestId)).stdout;
    };
    expect(await told('pending')).toContain('step 2 of 2  open');
    expect(await told('rejected')).toContain('step 2 of 2  rejected');
    expect(await told('expired')).toContain('step 2 of 2  not decided');
    for (const status of ['approved', 'dispatched', 'running', 'executed', 'failed', 'execution_lost'])
      expect(await told(status), status).toContain('step 2 of 2  not needed');
    expect(await told('cancelled', { cancelled_by: 'alice' })).toMatch(/cancelled by +alice\n/);
  });

  it('shows that approval was asked for, how many rows may change, and the migration of a finding (HD-25, HD-26, HD-95)', async () => {
    const finding = { level: 'warn', version: '20260501', rule: 'drop_table', message: 'DROP TABLE' };
    const context = { status: 'ready', sql_review: { findings: [finding] } };
    api.on(paths.show, shown('approved', { require_approval: true, max_affected_rows: 1000, context })).on(paths.executions, {
      body: { executions: [] },
    });
    const { stdout } = await svc('request', 'show', requestId);
    expect(stdout).toMatch(/operation +execute_dml, require_approval\n/);
    expect(stdout).toMatch(/may change +at most 1000 rows, because it was approved automatically\n/);
    expect(stdout).toContain('warn 20260501 drop_table DROP TABLE');
  });

  it('shows tables of the snapshot, what a DELETE takes along, the risk with its factors, and the plans (RQ-43, CL-31)', async () => {
    const context = {
      status: 'partial',
      explain_enabled: true,
      schema_snapshot_collected_at: '2026-05-01T08:00:00.000Z',
      tables: [
        {
          schema_name: 'public',
          name: 'users',
          estimated_rows: 1200,
          cascade_children_truncated: true,
          cascade_children: [{ schema_name: 'billing', name: 'invoices', depth: 1 }],
        },
        { schema_name: 'audit', name: 'log', estimated_rows: -1 },
        'elsewhere',
      ],
      risk: {
        level: 'High',
        factors: [
          { name: 'cascade_delete', targets: ['billing.invoices'] },
          { name: 'large_table', rows: 50_000 },
        ],
      },
      explain: [
        { sql: 'delete from users\n where id = 1', plan: [{ Plan: { 'Node Type': 'Seq Scan', 'Relation Name': 'users' } }] },
        { sql: 'select 1', error: 'permission denied (SQLSTATE 42501)', hint: 'ask for a right' },
      ],
    };
    api.on(paths.show, shown('pending', { context })).on(paths.executions, { body: { executions: [] } });
    const { stdout } = await svc('request', 'show', requestId);
    expect(stdout).toContain(`Context
  tables   users (1,200 rows; a DELETE also removes rows of billing.invoices and more), audit.log, elsewhere
  risk     high (cascade_delete: billing.invoices, large_table: 50,000 rows)
  schema   seen at 2026-05-01T08:00:00.000Z

Plan
  delete from users where id = 1
    Seq Scan on users
  select 1
    no plan: the role that makes plans (read_url) may not do this; the request runs as the role of url
    permission denied (SQLSTATE 42501)
`);
    const unanalysed = { ...context, risk: { level: 'Unknown', factors: [{ name: 'never_analysed', tables: ['items'] }] } };
    api.on(paths.show, shown('pending', { context: unanalysed }));
    expect((await svc('request', 'show', requestId)).stdout).toContain(
      '  risk     unknown (never_analysed: items)\n  hint     run ANALYZE on items: its size is not known\n',
    );
    const still = { ...context, status: 'collecting', explain: null };
    api.on(paths.show, shown('pending', { context: still }));
    expect((await svc('request', 'show', requestId)).stdout).toContain('Plan\n  waiting for an agent\n');
  });

  it('names the time to resume by only of what can be resumed (CL-31)', async () => {
    const told = async (status: string, resumable?: boolean) => {
      const more = { dispatch_by: '2031-01-01T00:00:00.000Z', resumable };
      api.on(paths.show, shown(status, more)).on(paths.executions, { body: { executions: [] } });
      return (await svc('request', 'show', requestId)).stdout.includes('resume by');
    };
    expect([await told('executed', false), await told('failed', false), await told('dispatched', true)]).toEqual([
      false,
      false,
      false,
    ]);
    expect([await told('executed', true), await told('approved', true), await told('executed')]).toEqual([true, true, true]);
  });

  it('colours on a terminal only, and not with NO_COLOR or --no-color (CL-13)', async () => {
    api.on(paths.show, shown('pending')).on(paths.executions, { body: { executions: [] } });
    const run = (environment: Record<string, string>, ...argv: string[]) =>
      runSvc(['request', 'show', requestId, ...argv], { environment: { ...login(api.url), ...environment }, terminal: true });
    expect((await run({})).stdout).toContain('\u001b[');
    expect((await run({ NO_COLOR: '1' })).stdout).not.toContain('\u001b[');
    expect((await run({}, '--no-color')).stdout).not.toContain('\u001b[');
  });
});

describe('request results', () => {
  const item = {
    request_id: requestId,
    execution_id: other,
    database: 'shop',
    environment: 'staging',
    operation: 'execute_select',
    stored_at: '2026-05-01T09:31:02.900Z',
    expires_at: '2026-05-31T09:31:02.900Z',
    content_length: 182,
  };

  it('lists what the server answers, with its bytes, and says when there is nothing', async () => {
    api.on('GET /api/results', { body: { results: [item] } }, { body: { results: [] } });
    const { stdout, code } = await svc('request', 'results', '--limit', '7');
    expect([code, api.calls[0]!.query.get('limit')]).toEqual([0, '7']);
    for (const text of [requestId, other, 'shop/staging', '182']) expect(stdout).toContain(text);
    const none = await svc('request', 'results');
    expect([none.code, none.stdout, none.stderr]).toEqual([0, '', expect.stringContaining('no stored results')]);
  });

  it('passes the answer through as JSON', async () => {
    api.on('GET /api/results', { body: { results: [item] } });
    expect(JSON.parse((await svc('request', 'results', '--json')).stdout)).toEqual({ ok: true, data: { results: [item] } });
  });
});

describe('decisions', () => {
  it('approves as a selector and says what comes next', async () => {
    const answer = {
      id: requestId,
      status: 'approved',
      approved_by: 'bob',
      matched_selector: 'group:dba-team',
      step_completed: 2,
      current_step: 2,
      total_steps: 2,
    };
    api.on(paths.show, shown('pending')).on(paths.approve, { body: answer });
    const result = await svc('request', 'approve', requestId, '--as', 'group:dba-team', '--comment', 'ok');
    const digest = shown('pending').body.approval_digest;
    const step = shown('pending').body.approval_progress.current_step;
    expect(api.bodies(paths.approve)).toEqual([
      { comment: 'ok', selector: 'group:dba-team', expected_digest: digest, expected_step: step },
    ]);
    expect(result.stdout).toContain(`svc request resume ${requestId}`);
  });

  it('shows what it decides on, says so by its digest, and asks on a terminal only (CL-18a, CO-32)', async () => {
    const detail = "UPDATE users SET name = '\u001b[2Jx'\nWHERE id = 7";
    api
      .on(
        paths.show,
        shown('pending', { detail, share_with: ['mallory', 'role:requester'], metadata: { source: 'mcp', client: 'model 1' } }),
      )
      .on(paths.approve, { body: { id: requestId, status: 'approved' } });
    api.on(`POST /api/requests/${requestId}/reject`, { body: { id: requestId, status: 'rejected' } });
    const decide = (verb: string, stdin: string | undefined, ...more: string[]) =>
      runSvc(['request', verb, requestId, '--no-color', ...more], {
        environment: login(api.url),
        ...(stdin === undefined ? {} : { terminal: true, stdin }),
      });
    for (const verb of ['approve', 'reject']) {
      const sent = () => api.calls.filter(({ method }) => method === 'POST').length;
      const before = sent();
      const refused = await decide(verb, 'n\n');
      expect([refused.code, sent()]).toEqual([1, before]);
      const told = ['app/production', 'alice', 'offboarding', 'shared   with mallory, role:requester', 'MCP client: model 1'];
      for (const text of [...told, 'WHERE id = 7', '\\u001b[2Jx', '[y/N]']) expect(refused.stderr).toContain(text);
      expect(refused.stderr).not.toContain('\u001b');
      expect((await decide(verb, 'y\n')).code).toBe(0);
      expect((await decide(verb, '', '--yes')).stderr).not.toContain('[y/N]');
      const script = await decide(verb, undefined);
      expect([script.code, script.stderr.includes('[y/N]'), script.stderr.includes('WHERE id = 7')]).toEqual([0, false, true]);
      expect(sent()).toBe(before + 3);
      expect(api.bodies(`POST /api/requests/${requestId}/${verb}`)[0]).toEqual({
        expected_digest: shown('pending').body.approval_digest,
        ...(verb === 'approve' ? { expected_step: shown('pending').body.approval_progress.current_step } : {}),
      });
    }
    api.calls.length = 0;
    expect((await decide('approve', undefined, '--json')).stderr).toBe('');
    expect(api.bodies(paths.approve)).toEqual([{}]);
    expect(api.calls.map(({ method }) => method)).toEqual(['POST']);
  });

  it('lets somebody decide who may not read it, and says so; any other failure ends it (CL-18a)', async () => {
    const refusal = { error: 'forbidden', code: 'auth.forbidden', hint: null };
    api.on(paths.show, { status: 403, body: refusal }).on(paths.approve, { body: { id: requestId, status: 'approved' } });
    const blind = await svc('request', 'approve', requestId);
    expect([blind.code, blind.stderr]).toEqual([0, expect.stringContaining('may not read')]);
    api.on(paths.show, { status: 404, body: { error: 'request not found', code: 'request.not_found', hint: null } });
    expect((await svc('request', 'approve', requestId)).code).toBe(1);
    expect(api.bodies(paths.approve)).toHaveLength(1);
  });

  it('acts on a prefix of 8 characters at least (CL-27)', async () => {
    api.on(paths.list, page(requestId)).on(paths.cancel, { body: { id: requestId, status: 'cancelled' } });
    for (const verb of [['approve'], ['reject'], ['cancel'], ['resume'], ['wait', '--resume']]) {
      const [command = '', ...more] = verb;
      expect((await svc('request', command, requestId.slice(0, 7), ...more)).code, command).toBe(2);
    }
    expect(api.calls).toEqual([]);
    api.on(paths.show, shown('pending'));
    expect((await svc('request', 'cancel', requestId.slice(0, 8))).code).toBe(0);
  });

  it('tells already_approved from other conflicts', async () => {
    for (const [text, reason, code] of [
      ['you did', 'already_approved', 'already_approved'],
      ['it runs', 'already_dispatched', 'already_approved'],
      ['not already approved', 'wrong_status', 'request.conflict'],
    ] as const) {
      api.on(paths.approve, conflict(text, reason));
      const result = await svc('request', 'approve', requestId, '--json');
      expect(JSON.parse(result.stdout).error.code).toBe(code);
      expect(result.code).toBe(1);
    }
  });

  it('cancels at once what is not running; a running one is confirmed first and 202 is exit 0', async () => {
    api.on(paths.show, shown('pending')).on(paths.cancel, { body: { id: requestId, status: 'cancelled' } });
    expect(await svc('request', 'cancel', requestId)).toMatchObject({ code: 0, stdout: `cancelled: request ${requestId}\n` });
    api
      .on(paths.show, shown('running'))
      .on(paths.cancel, { status: 202, body: { id: requestId, status: 'running', cancel_requested: true } });
    expect((await svc('request', 'cancel', requestId)).code).toBe(1);
    expect(api.bodies(paths.cancel)).toHaveLength(1);
    expect(await svc('request', 'cancel', requestId, '-y')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('still running'),
    });
  });

  it('says that it had been executed when a cancel came too late (CL-I6)', async () => {
    api.on(paths.show, shown('running'), shown('executed')).on(paths.cancel, conflict('the request is executed'));
    const result = await svc('request', 'cancel', requestId, '-y', '--json');
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout).error.message).toContain('had been executed');
  });
});

describe('request wait, resume, result', () => {
  it('waits through the approval; resumes only with --resume (CL-22)', async () => {
    api.on(paths.show, shown('pending'), shown('pending'), shown('approved'));
    expect((await svc('request', 'wait', requestId)).code).toBe(2);
    api
      .on(paths.show, shown('approved'), shown('executed'))
      .on(paths.resume, { body: { status: 'dispatched' } })
      .on(paths.stream, { body: twoRows });
    expect((await svc('request', 'wait', requestId, '--resume')).code).toBe(0);
  });

  it('resumes what it has seen, and shows what somebody else has started since (RQ-88)', async () => {
    api
      .on(paths.show, shown('approved', { fence: 3 }), shown('executed'))
      .on(paths.resume, conflict('it ran', 'already_dispatched'))
      .on(paths.stream, { body: twoRows });
    expect((await svc('request', 'wait', requestId, '--resume')).code).toBe(0);
    expect(api.bodies(paths.resume)).toEqual([{ expected_fence: 3 }]);
  });

  it('a resume that got no answer may have been taken: the hint is to wait for it, not to resume again', async () => {
    api.on(paths.resume, { drop: true });
    const { code, stderr } = await svc('request', 'resume', requestId);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`svc request wait ${requestId}`)]);
  });

  it('goes on when a resume finds the request dispatched, and reports other conflicts (CL-23)', async () => {
    api.on(paths.resume, conflict('it runs', 'already_dispatched')).on(paths.stream, { body: twoRows });
    expect((await svc('request', 'resume', requestId, '--reason', 'go')).code).toBe(0);
    api.on(paths.resume, conflict('not already dispatched, but executed as often as its policy allows', 'executions_used_up'));
    expect((await svc('request', 'resume', requestId)).code).toBe(1);
  });

  it('shows a stored result of one run, and passes on that there is none yet', async () => {
    api.on(paths.content, { body: twoRows });
    expect(await svc('request', 'result', requestId, '--execution', 'e1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('alice'),
    });
    expect(api.calls[0]!.query.get('execution_id')).toBe('e1');
    api
      .on(paths.content, { status: 404, body: { error: 'no result yet', code: 'result.not_found', hint: null } })
      .on(paths.show, shown('running'));
    expect(JSON.parse((await svc('request', 'result', requestId, '--json')).stdout).error.code).toBe('result.not_found');
  });

  it('lists the runs with request executions and with request result --list', async () => {
    api.on(paths.executions, { body: { executions: [] } });
    expect((await svc('request', 'executions', requestId, '--limit', '5')).stdout).toBe(
      (await svc('request', 'result', requestId, '--list')).stdout,
    );
    expect(api.calls[0]!.query.get('limit')).toBe('5');
  });
});
