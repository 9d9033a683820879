import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, it } from 'vitest';
import type { SlackReply } from '../../activities/slack-card.js';
import type { SharedConfig } from '../../domain/policies.js';
import { outgoingBy } from '../../runtime/outgoing.js';
import { createSlackCardStarter } from '../../worker/slack-card-starter.js';
import { slackCardWorkflow, slackCardWorkflowId } from '../../workflows/messages.js';
import { reject, storeRequest } from '../support/requests.js';
import { eventually, log, startTestWorker, type TestWorker } from '../worker/support.js';
import { recordHistory } from './history-file.js';

let worker: TestWorker;
let reply: SlackReply;
let answer: Promise<void>;
beforeAll(async () => {
  const shared = () => ({ webhooks: [], notificationPolicies: [] }) as unknown as SharedConfig;
  worker = await startTestWorker({
    outgoingOf: outgoingBy(shared, () => ({ server: { publicUrl: null }, slack: { botToken: 'x', signingSecret: 'x', channel: '#db' } })),
    slack: {
      isOn: () => true,
      call: async () => {
        const now = reply;
        await answer;
        return now;
      },
    },
    jobs: (parts) => [createSlackCardStarter({ ...parts, log })],
  });
});
afterAll(() => worker?.stop());

const posted: SlackReply = { ok: true, body: { channel: 'C1', ts: '1900000000.000100' } };
const refused: SlackReply = { ok: false, error: 'ratelimited', retryAfterSecs: 1 };
const record = (name: string, id: string) => recordHistory(worker.client, name, slackCardWorkflowId(id));
const ended = (id: string) => worker.client.workflow.getHandle(slackCardWorkflowId(id)).result();

interface CardRow {
  id: string;
  shown: number;
  failures: number;
  told: boolean;
}

/** The card of the request, once it is so. */
const card = (requestId: string, is: (row: CardRow) => boolean) =>
  eventually(async () => {
    const [row] = await worker.database.query<CardRow>(
      'select id, shown, attempts as failures, told from slack_cards where request_id = $1',
      [requestId],
    );
    return row !== undefined && is(row) ? row.id : null;
  });

it('posted at once', async () => {
  [reply, answer] = [posted, Promise.resolve()];
  const id = await card(await storeRequest(worker.database), ({ shown }) => shown === 1);
  await ended(id);
  await record('slack-card-at-once', id);
});

it('posted after a failure', async () => {
  [reply, answer] = [refused, Promise.resolve()];
  const request = await storeRequest(worker.database);
  const id = await card(request, ({ failures }) => failures > 0);
  reply = posted;
  await ended(id);
  await record('slack-card-again', id);
});

it('changed while it is posted', async () => {
  let go = () => {};
  [reply, answer] = [
    posted,
    new Promise<void>((resolve) => {
      go = resolve;
    }),
  ];
  const request = await storeRequest(worker.database);
  await card(request, ({ told }) => told);
  await reject(worker.database, request);
  const id = await card(request, ({ told }) => told);
  await record('slack-card-open', id);
  go();
  await ended(id);
  await record('slack-card-changed', id);
});

it('not stored', async () => {
  const id = randomUUID();
  await worker.client.workflow.execute(slackCardWorkflow, {
    workflowId: slackCardWorkflowId(id),
    taskQueue: worker.taskQueue,
    args: [{ id }],
  });
  await record('slack-card-not-stored', id);
});
