import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let alice: string;
let bob: string;
beforeAll(async () => {
  api = await startTestApi({ toml: shopToml });
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
