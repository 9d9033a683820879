import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { approve, errorsOf, type OnboardingCalls, reject, startOnboardingApi } from './onboarding-calls.js';

let on: OnboardingCalls;
beforeAll(async () => {
  on = await startOnboardingApi();
});
afterAll(() => on?.close());

const roles = 'roles_block/roles_select';
const groups = 'groups_block/groups_select';
const showUser = async (id: string) => (await on.api.call('GET', `/api/users/${id}`, { token: on.api.tokens.admin })).body;
let joined = 0;
/** Somebody new asks for an account. */
const ask = async () => {
  joined += 1;
  const slackUserId = `UNEW${joined}`;
  return { slackUserId, id: await on.join(slackUserId) };
};

describe('who may review', () => {
  it('is who may make users, at the click and at the submission (SL-43, SL-32, SL-I2)', async () => {
    const { id } = await ask();
    const click = (user: string) => on.told(user, () => on.people.click('svc_onboarding_review', id, user, 'C1'));
    expect(await click('UREADER')).toContain('forbidden');
    expect(await click('USTRANGER')).toContain('not linked');
    const view = await on.openReview(id);
    for (const user of ['UREADER', 'USTRANGER']) {
      const payload = on.people.submissionOf(view, approve);
      const answer = await on.people.interact({ ...payload, user: { ...payload.user, id: user } });
      expect(errorsOf(answer).decision_block).toMatch(/forbidden|not linked/);
    }
    expect(await on.stored(id)).toMatchObject({ status: 'pending' });
  });

  it('may grant no more than he has, but give no role, and reject (IM-53)', async () => {
    const { id, slackUserId } = await ask();
    expect(errorsOf(await on.decide(id, approve, 'UCLERK')).decision_block).toContain('insufficient permissions');
    expect(errorsOf(await on.decide(id, { ...approve, [roles]: [], [groups]: ['leads'] }, 'UCLERK')).decision_block).toContain(
      'insufficient permissions',
    );
    expect(await on.stored(id)).toMatchObject({ status: 'pending' });
    expect((await on.decide(id, { ...approve, [roles]: [] }, 'UCLERK')).text).toBe('');
    expect(await showUser(slackUserId.toLowerCase())).toMatchObject({ roles: [] });
  });
});

describe('what can be reviewed', () => {
  it('is pending and not over, at the click and at the submission (SL-43)', async () => {
    const { id } = await ask();
    const view = await on.openReview(id);
    const click = () => on.told('UADMIN', () => on.people.click('svc_onboarding_review', id, 'UADMIN', 'C1'));
    const submit = async () => errorsOf(await on.people.interact(on.people.submissionOf(view, approve))).decision_block;
    await on.rows(`update slack_onboardings set expires_at = clock_timestamp() - interval '1 ms' where id = $1`, [id]);
    expect([await click(), await submit()]).toEqual(Array(2).fill('the request has expired'));
    await on.rows(`update slack_onboardings set expires_at = clock_timestamp() + interval '1 hour' where id = $1`, [id]);
    await on.decide(id, reject);
    expect([await click(), await submit()]).toEqual(Array(2).fill('already decided'));
    for (const other of ['8c1f0a34-1111-4222-8333-944445555666', 'x', "' or true --"]) {
      const payload = on.people.submissionOf(view, approve);
      const forged = await on.people.interact({ ...payload, view: { ...payload.view, private_metadata: other } });
      expect(errorsOf(forged).decision_block).toContain('no such request');
    }
  });

  it('of twenty reviews at once exactly one takes effect, and the others see that (SL-45, SL-I6)', async () => {
    const { id, slackUserId } = await ask();
    const view = await on.openReview(id);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => on.people.interact(on.people.submissionOf(view, at % 2 === 0 ? approve : reject))),
    );
    // An answer that is late on a busy machine says that the outcome is not known yet (SL-14).
    expect(answers.filter(({ text }) => text === '').length).toBeLessThanOrEqual(1);
    for (const answer of answers.filter(({ text }) => text !== ''))
      expect(errorsOf(answer).decision_block).toMatch(/^already decided$|outcome is not known yet/);
    const again = await on.people.interact(on.people.submissionOf(view, approve));
    expect(errorsOf(again)).toEqual({ decision_block: 'already decided' });
    const { status, userId } = (await on.stored(id))!;
    expect((await on.eventsOf(id)).map(({ type }) => type)).toEqual(['onboarding.requested', `onboarding.${status}`]);
    const users = await on.rows(`select 1 from users where slack_user_id = $1`, [slackUserId]);
    expect(users).toHaveLength(status === 'approved' ? 1 : 0);
    expect(userId === null).toBe(status === 'rejected');
  });
});
