import { afterAll, beforeAll, expect, it } from 'vitest';
import { endOnboarding, findOnboarding } from '../../db/slack-onboardings.js';
import { createOnboardingKeeper } from '../../worker/onboarding-keeper.js';
import { createOnboardingStarter } from '../../worker/onboarding-starter.js';
import { onboardingWorkflowId } from '../../workflows/messages.js';
import { storedOnboarding } from '../support/stored-onboarding.js';
import { eventually, log, startTestWorker, type TestWorker } from './support.js';

let worker: TestWorker;
beforeAll(async () => {
  worker = await startTestWorker({
    jobs: (parts) => [
      createOnboardingStarter({ ...parts, log }),
      createOnboardingKeeper({ ...parts, log, everyMs: 200, graceMs: 500 }),
    ],
  });
});
afterAll(() => worker?.stop());

const statusOf = async (id: string) => (await findOnboarding(worker.database, id))?.onboarding.status;
const handle = (id: string) => worker.client.workflow.getHandle(onboardingWorkflowId(id));
const runs = (id: string) =>
  eventually(() =>
    handle(id)
      .describe()
      .then(() => true)
      .catch(() => false),
  );
const eventsOf = (id: string) =>
  worker.database.query<{ type: string; actor: string; metadata: string }>(
    `select event_type as type, actor_id as actor, metadata_json as metadata from audit_events where resource_id = $1 order by position`,
    [id],
  );
const cardsOf = (id: string) =>
  worker.database.query<{ channel: string; wanted: number }>(
    'select channel, wanted from slack_cards where onboarding_id = $1 order by channel',
    [id],
  );

const expireNow = (id: string) =>
  worker.database.query('update slack_onboardings set expires_at = clock_timestamp() where id = $1', [id]);

it('expires at its instant, once, with its event, its card and a message to the applicant (SL-45, AU-10)', async () => {
  const id = await storedOnboarding(worker.database, { inMs: 3000, slackUserId: 'U0EXPIRES' });
  await worker.database.query(`insert into slack_cards (id, onboarding_id, channel) values (gen_random_uuid(), $1, '#db')`, [id]);
  await runs(id);
  expect(await handle(id).result()).toBe('expired');
  const [row] = await worker.database.query<{ late: number }>(
    'select extract(epoch from decided_at - expires_at)::float8 as late from slack_onboardings where id = $1',
    [id],
  );
  expect(row?.late).toBeGreaterThanOrEqual(0);
  expect(await eventsOf(id)).toEqual([
    { type: 'onboarding.expired', actor: 'system', metadata: '{"slack_user_id":"U0EXPIRES"}' },
  ]);
  expect(await cardsOf(id)).toEqual([
    { channel: '#db', wanted: 2 },
    { channel: 'U0EXPIRES', wanted: 1 },
  ]);
});

it('the workflow ends as soon as somebody has decided (SL-45)', async () => {
  const id = await storedOnboarding(worker.database);
  await runs(id);
  await worker.database.transaction((tx) => endOnboarding(tx, id, { status: 'rejected', by: 'otto', comment: 'no' }));
  expect(await handle(id).result()).toBe('rejected');
  expect(await eventsOf(id)).toEqual([]);
});

it('one whose workflow Temporal has lost expires all the same (OP-73)', async () => {
  const id = await storedOnboarding(worker.database);
  await runs(id);
  await eventually(async () => {
    const [row] = await worker.database.query<{ told: boolean }>('select told from slack_onboardings where id = $1', [id]);
    return row?.told;
  });
  await handle(id).terminate('lost');
  await expireNow(id);
  await eventually(async () => (await statusOf(id)) === 'expired');
  expect(await eventsOf(id)).toHaveLength(1);
});

it('one whose workflow does not go on is given another one, and expires (SL-45)', async () => {
  const { client, database } = worker;
  const id = await storedOnboarding(database, { slackUserId: 'U0STUCK' });
  await runs(id);
  // A step of the first run must not come late.
  await eventually(async () => (await handle(id).fetchHistory()).events?.some((event) => event.timerStartedEventAttributes));
  await handle(id).terminate();
  // On a queue that no worker serves, as after a change of `temporal.task_queue`.
  await client.workflow.start('onboarding', { workflowId: onboardingWorkflowId(id), taskQueue: `gone-${id}`, args: [{ id }] });
  await database.query(`update slack_onboardings set expires_at = clock_timestamp() - interval '1 hour' where id = $1`, [id]);
  await eventually(async () => (await statusOf(id)) === 'expired');
});

it('a cancel in the Temporal UI ends nothing', async () => {
  const id = await storedOnboarding(worker.database);
  await runs(id);
  await handle(id).cancel();
  await expireNow(id);
  expect(await handle(id).result()).toBe('expired');
});
