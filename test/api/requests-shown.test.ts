import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { databaseToml, workflowToml } from '../support/toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

/** bob may approve both steps, one after the other. */
const twoStepsToml = [
  databaseToml('ledger', ['lab']),
  workflowToml({
    database: 'ledger',
    environment: 'lab',
    steps: [[{ group: 'dba-team' }], [{ group: 'dba-team' }]],
    more: 'allow_same_approver_across_steps = true',
  }),
].join('');

let api: TestApi;
let calls: GatewayCalls;
let alice: string;
let bob: string;
beforeAll(async () => {
  api = await startTestApi({ toml: shopToml + twoStepsToml });
  calls = gatewayCalls(api);
  alice = await api.createUser('alice', { roles: ['requester'] });
  bob = await api.createUser('bob', { roles: ['approver'], groups: ['dba-team'] });
});
afterAll(() => api?.close());

const other = '0'.repeat(64);
const decide = (id: string, verb: string, token: string, body: object) =>
  api.call('POST', `/api/requests/${id}/${verb}`, { token, body });
const shown = async (id: string) => (await api.call('GET', `/api/requests/${id}`, { token: bob })).body;

describe.each(['approve', 'reject'])('%s of what was shown (RQ-57, RQ-62, CO-32)', (verb) => {
  it('is refused for another digest, and nothing is decided; with the digest that is shown it is taken', async () => {
    const id = await calls.created(alice);
    const before = await shown(id);
    const refused = await decide(id, verb, bob, { expected_digest: other });
    expect([refused.status, refused.body]).toEqual([
      409,
      {
        error: 'the request is not the one that was shown',
        code: 'request.conflict',
        hint: 'look at it again before you decide',
        reason: 'content_changed',
      },
    ]);
    expect(await shown(id)).toEqual(before);
    const taken = await decide(id, verb, bob, { expected_digest: before.approval_digest });
    expect([taken.status, taken.body.status]).toEqual([200, verb === 'approve' ? 'approved' : 'rejected']);
  });

  it('needs no digest, and takes null for none', async () => {
    expect((await decide(await calls.created(alice), verb, bob, { expected_digest: null })).status).toBe(200);
  });

  it.each(['', 'x', 'A'.repeat(64), `${other}0`, 5])('with %j as digest is 400', async (digest) => {
    const answer = await decide(await calls.created(alice), verb, bob, { expected_digest: digest });
    expect([answer.status, answer.body.hint]).toEqual([400, 'body.expected_digest']);
  });

  it('tells who may not decide nothing of the digest', async () => {
    const id = await calls.created(alice);
    const stranger = verb === 'approve' ? alice : await api.createUser(`sam-${verb}`, { roles: ['requester'] });
    const [wrong, right] = [other, (await shown(id)).approval_digest];
    const answers = [
      await decide(id, verb, stranger, { expected_digest: wrong }),
      await decide(id, verb, stranger, { expected_digest: right }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403]);
    expect(answers[0]?.text).toBe(answers[1]?.text);
  });
});

describe('an approval of the step that was shown (RQ-58)', () => {
  const ledger = { database: 'ledger', environment: 'lab' };
  const progressOf = async (id: string) => (await shown(id)).approval_progress;
  const approve = (id: string, step: unknown) => decide(id, 'approve', bob, { expected_step: step });

  it('counts once, however often it is repeated; the next step takes an approval of its own', async () => {
    const id = await calls.created(alice, ledger);
    const { current_step: step } = await progressOf(id);
    const answers = await Promise.all([approve(id, step), approve(id, step), approve(id, step)]);
    expect(answers.map(({ status, body }) => [status, body.reason ?? body.status]).sort()).toEqual([
      [200, 'pending'],
      [409, 'already_approved'],
      [409, 'already_approved'],
    ]);
    expect((await progressOf(id)).current_step).toBe(1);
    expect((await approve(id, 1)).body.status).toBe('approved');
  });

  it('is refused for a step that is not open, and takes null for none', async () => {
    const id = await calls.created(alice, ledger);
    expect((await approve(id, 1)).body).toEqual({
      error: 'the request waits for another step than the one that was shown',
      code: 'request.conflict',
      hint: 'look at it again before you decide',
      reason: 'content_changed',
    });
    expect((await progressOf(id)).current_step).toBe(0);
    expect((await approve(id, null)).status).toBe(200);
  });

  it.each([-1, 0.5, '0', 1e9])('with %j as step is 400', async (step) => {
    const answer = await approve(await calls.created(alice, ledger), step);
    expect([answer.status, answer.body.hint]).toEqual([400, 'body.expected_step']);
  });
});
