import { startTestApi, type TestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { type FakeSlack, startFakeSlack } from '../support/slack/fake-slack.js';
import { type GatewayAnswer, type Inputs, slackPeople } from '../support/slack/people.js';
import { databaseToml, groupToml, passesToml, roleToml } from '../support/toml.js';

type OpenView = ReturnType<FakeSlack['openViews']>[number];

export const onboardingToml = (fake: Pick<FakeSlack, 'apiBaseUrl'>, enabled = true) =>
  [
    databaseToml('shop', ['staging']),
    passesToml(),
    groupToml('leads', ['approver']),
    groupToml('secret-group', ['dba']),
    roleToml('clerk', ['user.write']),
    '[rate_limits]\nper_address = 0\nper_token = 0\n\n',
    `[slack]\nbot_token = "xoxb-test"\nsigning_secret = "slk-secret"\napi_base_url = "${fake.apiBaseUrl}"\n`,
    `[slack.onboarding]\nenabled = ${enabled}\nassignable_roles = ["requester", "approver", "dba"]\nrestricted_roles = ["dba"]\nassignable_groups = ["leads"]\n\n`,
  ].join('');

export type OnboardingCalls = Awaited<ReturnType<typeof startOnboardingApi>>;

/** A gateway with onboarding, the stand-in of Slack, and reviewers: `UADMIN` may grant everything, `UCLERK` may make users and grant nothing. */
export async function startOnboardingApi(over: { toml?: (fake: FakeSlack) => string } = {}) {
  const fake = await startFakeSlack();
  const api = await startTestApi({ toml: (over.toml ?? onboardingToml)(fake) });
  const people = slackPeople(fake, { url: api.url, signingSecret: 'slk-secret' });
  await link(api, 'admin', 'UADMIN');
  for (const [id, roles] of [
    ['clerk', ['clerk']],
    ['reader', ['requester']],
  ] as const) {
    await api.createUser(id, { roles: [...roles] });
    await link(api, id, `U${id.toUpperCase()}`);
  }
  const newestView = async (user: string, count: number): Promise<OpenView> => {
    await eventually(() => fake.openViews(user).length > count);
    return fake.openViews(user).at(-1)!;
  };
  const rows = <Row extends object>(text: string, values: unknown[] = []) => api.services.database.query<Row>(text, values);

  /** Sends a modal off under another name in Slack. */
  async function submitAs(view: OpenView, inputs: Inputs, name: string): Promise<GatewayAnswer> {
    const payload = people.submissionOf(view, inputs);
    return people.interact({ ...payload, user: { ...payload.user, name, username: name } });
  }

  async function openJoin(user: string): Promise<OpenView> {
    const count = fake.openViews(user).length;
    const answer = await people.slash('join', user);
    if (answer.text !== '') throw new Error(answer.text);
    return newestView(user, count);
  }

  /** Asks for an account and returns the id of the onboarding. */
  async function join(user: string, inputs: Inputs = {}, name = user.toLowerCase()): Promise<string> {
    const view = await openJoin(user);
    const asked = { 'roles_block/roles_select': ['requester'], 'reason_block/reason_input': 'on call', ...inputs };
    const answer = await submitAs(view, asked, name);
    if (answer.text !== '') throw new Error(answer.text);
    const [row] = await rows<{ id: string }>(`select id from slack_onboardings where slack_user_id = $1 and status = 'pending'`, [
      user,
    ]);
    return row!.id;
  }

  /** Opens the review by the button that a card of this onboarding would have. */
  async function openReview(id: string, by = 'UADMIN'): Promise<OpenView> {
    const count = fake.openViews(by).length;
    await people.click('svc_onboarding_review', id, by);
    return newestView(by, count);
  }

  return {
    api,
    fake,
    people,
    rows,
    submitAs,
    openJoin,
    join,
    openReview,
    decide: async (id: string, inputs: Inputs, by = 'UADMIN') => people.submit(await openReview(id, by), inputs),
    /** What a person is told alone, after a click that is refused. */
    async told(user: string, act: () => Promise<unknown>): Promise<string> {
      const count = fake.ephemeralsOf(user).length;
      await act();
      await eventually(() => fake.ephemeralsOf(user).length > count);
      return fake.ephemeralsOf(user).at(-1)!.text;
    },
    eventsOf: (id: string) =>
      rows<{ type: string; actor: string; outcome: string; reason: string | null; metadata: string }>(
        `select event_type as type, actor_id as actor, outcome, reason, metadata_json as metadata from audit_events
         where resource_id = $1 order by position`,
        [id],
      ),
    async stored(id: string) {
      const [row] = await rows<{ status: string; userId: string | null; decidedBy: string | null; comment: string | null }>(
        'select status, user_id as "userId", decided_by as "decidedBy", comment from slack_onboardings where id = $1',
        [id],
      );
      return row;
    },
    cardsOf: (id: string) =>
      rows<{ channel: string; wanted: number }>(
        'select channel, wanted from slack_cards where onboarding_id = $1 order by channel',
        [id],
      ),
    close: async () => {
      await api.close();
      await fake.close();
    },
  };
}

export async function link(api: TestApi, user: string, slackUserId: string): Promise<void> {
  const body = { slack_user_id: slackUserId };
  const answer = await api.call('PATCH', `/api/users/${user}`, { token: api.tokens.admin, body });
  if (answer.status !== 200) throw new Error(answer.text);
}

export const approve = { 'decision_block/decision_input': 'approve' };
export const reject = { 'decision_block/decision_input': 'reject', 'comment_block/comment_input': 'who are you?' };

/** The errors that a submission was answered with. */
export const errorsOf = ({ body }: GatewayAnswer): Record<string, string> => body?.errors ?? {};
