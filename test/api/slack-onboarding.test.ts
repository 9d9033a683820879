import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { approve, errorsOf, link, type OnboardingCalls, onboardingToml, reject, startOnboardingApi } from './onboarding-calls.js';

let on: OnboardingCalls;
beforeAll(async () => {
  on = await startOnboardingApi();
});
afterAll(() => on?.close());

const roles = 'roles_block/roles_select';
const groups = 'groups_block/groups_select';
const reason = 'reason_block/reason_input';

describe('/svc join', () => {
  it('opens a form with the roles that are not restricted and the groups (SL-40, SL-41)', async () => {
    const { view } = await on.openJoin('UFORM');
    const values = JSON.stringify(view.blocks);
    for (const name of ['requester', 'approver', 'leads']) expect(values).toContain(`"value":"${name}"`);
    for (const name of ['dba', 'admin', 'secret-group']) expect(values).not.toContain(`"value":"${name}"`);
  });

  it('is stored with an event and a card in the channel, and ends 72 h later (SL-42)', async () => {
    const id = await on.join('UMIRA', { [roles]: ['requester', 'approver'], [groups]: ['leads'] }, 'Mira K.');
    const [row] = await on.rows<object>(
      `select slack_user_id, display_name, roles, groups, reason, status, expires_at - created_at = interval '72 hours' as "isKept"
       from slack_onboardings where id = $1`,
      [id],
    );
    expect(row).toEqual({
      slack_user_id: 'UMIRA',
      display_name: 'Mira K.',
      roles: ['requester', 'approver'],
      groups: ['leads'],
      reason: 'on call',
      status: 'pending',
      isKept: true,
    });
    expect(await on.eventsOf(id)).toEqual([
      {
        type: 'onboarding.requested',
        actor: 'anonymous',
        outcome: 'success',
        reason: null,
        metadata: '{"slack_user_id":"UMIRA","roles":["requester","approver"],"groups":["leads"],"channel":"slack"}',
      },
    ]);
    expect(await on.cardsOf(id)).toEqual([{ channel: '#db-approvals', wanted: 1 }]);
  });

  it('is refused to who has a user, active or suspended, and who waits already (SL-40)', async () => {
    await on.api.createUser('otto', { roles: ['requester'] });
    await link(on.api, 'otto', 'UOTTO');
    const told = async (user: string) => (await on.people.slash('join', user)).body;
    expect(await told('UOTTO')).toMatchObject({ response_type: 'ephemeral', text: expect.stringContaining('linked to a user') });
    await on.api.call('POST', '/api/users/otto/suspend', { token: on.api.tokens.admin });
    expect(await told('UOTTO')).toMatchObject({ text: expect.stringContaining('suspended') });
    await on.join('UWAITS');
    expect(await told('UWAITS')).toMatchObject({ text: expect.stringContaining('waits for a review already') });
    // A deleted user has no Slack link any more (IM-67).
    await on.api.call('DELETE', '/api/users/otto', { token: on.api.tokens.admin });
    expect(await on.join('UOTTO')).toBeDefined();
  });

  it('is refused while it is switched off, and so is a form that was opened before (SL-40, SL-41)', async () => {
    const off = await startOnboardingApi({ toml: (fake) => onboardingToml(fake, false) });
    try {
      expect((await off.people.slash('join', 'UNEW')).body).toMatchObject({ text: expect.stringContaining('switched off') });
      const view = await on.openJoin('UNEW');
      const payload = on.people.submissionOf(view, { [reason]: 'on call' });
      expect(errorsOf(await off.people.interact(payload)).reason_block).toContain('switched off');
      expect(await off.rows('select 1 from slack_onboardings')).toEqual([]);
    } finally {
      await off.close();
    }
  });

  it('says so when Slack does not open the form', async () => {
    on.fake.next('views.open', { error: 'expired_trigger_id' });
    expect((await on.people.slash('join', 'ULATE')).body).toMatchObject({ text: expect.stringContaining('did not open') });
  });
});

describe('a submission of svc_onboarding', () => {
  it.each([
    ['a restricted role', { [roles]: ['dba'] }, 'roles_block'],
    ['a role that nobody may assign', { [roles]: ['requester', 'admin'] }, 'roles_block'],
    ['a role that is not there', { [roles]: ['nope'] }, 'roles_block'],
    ['a group that is not offered', { [groups]: ['secret-group'] }, 'groups_block'],
    ['no reason', { [reason]: ' \n' }, 'reason_block'],
    ['a reason that is too long', { [reason]: 'x'.repeat(1001) }, 'reason_block'],
    ['a reason that cannot be stored', { [reason]: 'a\0b' }, 'reason_block'],
    ['half a character', { [reason]: '\ud800' }, 'reason_block'],
  ])('with %s is an error on its block, and nothing is stored (SL-41)', async (_, inputs, block) => {
    const view = await on.openJoin('UFORGER');
    const answer = await on.people.interact(on.people.submissionOf(view, { [reason]: 'on call', ...inputs }));
    expect(Object.keys(errorsOf(answer))).toEqual([block]);
    expect(await on.rows(`select 1 from slack_onboardings where slack_user_id = 'UFORGER'`)).toEqual([]);
  });

  it('of which the state is forged is refused or counts as nothing, and never fails', async () => {
    const view = await on.openJoin('UFORGER');
    const payload = on.people.submissionOf(view, { [reason]: 'on call' });
    for (const values of [
      null,
      [],
      { roles_block: { roles_select: { selected_options: [{ value: 5 }] } } },
      { reason_block: { reason_input: { value: {} } } },
      { roles_block: { roles_select: { selected_options: [null] } }, reason_block: 'x' },
    ]) {
      const answer = await on.people.interact({ ...payload, view: { ...payload.view, state: { values } } });
      expect([answer.status, answer.body?.response_action]).toEqual([200, 'errors']);
    }
    expect(await on.rows(`select 1 from slack_onboardings where slack_user_id = 'UFORGER'`)).toEqual([]);
  });

  it('twenty times at once stores one (SL-42, SL-I6)', async () => {
    const view = await on.openJoin('UEAGER');
    const sent = Array.from({ length: 20 }, () => on.submitAs(view, { [reason]: 'on call' }, 'eager'));
    const answers = await Promise.all(sent);
    // An answer that is late on a busy machine says that the outcome is not known yet (SL-14).
    expect(answers.filter(({ text }) => text === '').length).toBeLessThanOrEqual(1);
    for (const answer of answers.filter(({ text }) => text !== ''))
      expect(errorsOf(answer).reason_block).toMatch(/waits for a review already|outcome is not known yet/);
    const again = await on.submitAs(view, { [reason]: 'on call' }, 'eager');
    expect(errorsOf(again).reason_block).toContain('waits for a review already');
    const stored = await on.rows<{ id: string }>(`select id from slack_onboardings where slack_user_id = 'UEAGER'`);
    expect(stored).toHaveLength(1);
    expect(await on.eventsOf(stored[0]!.id)).toHaveLength(1);
  });

  it('that is replayed does nothing, and one for somebody who got a user meanwhile is refused (SL-12, SL-14, SL-41)', async () => {
    const view = await on.openJoin('UREPLAY');
    const call = on.people.sign('interactions', formOf(on.people.submissionOf(view, { [reason]: 'on call' })));
    expect((await on.people.send(call)).text).toBe('');
    const [row] = await on.rows<{ id: string }>(`select id from slack_onboardings where slack_user_id = 'UREPLAY'`);
    await on.decide(row!.id, reject);
    expect((await on.people.send(call)).text).toBe('');
    expect(await on.rows(`select 1 from slack_onboardings where slack_user_id = 'UREPLAY'`)).toHaveLength(1);
    // Signed anew, as Slack does for a form that stayed open.
    const submitted = await on.people.interact(on.people.submissionOf(view, { [reason]: 'on call' }));
    expect(errorsOf(submitted).reason_block).toContain('submitted before');
    await on.decide(await on.join('UREPLAY'), approve);
    const again = await on.people.interact(on.people.submissionOf(view, { [reason]: 'once more' }));
    expect(errorsOf(again).reason_block).toContain('linked to a user already');
  });

  it('does not wait for a clock that is late: what is overdue expires first (SL-45)', async () => {
    const id = await on.join('ULATER');
    await on.rows(`update slack_onboardings set expires_at = clock_timestamp() - interval '1 ms' where id = $1`, [id]);
    expect(await on.join('ULATER')).not.toBe(id);
    expect(await on.stored(id)).toMatchObject({ status: 'expired', decidedBy: null });
    expect((await on.eventsOf(id)).map(({ type }) => type)).toEqual(['onboarding.requested', 'onboarding.expired']);
  });
});

const formOf = (payload: unknown) => new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
