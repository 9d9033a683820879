import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, it } from 'vitest';
import { endOnboarding } from '../../db/slack-onboardings.js';
import { createOnboardingStarter } from '../../worker/onboarding-starter.js';
import { onboardingWorkflow, onboardingWorkflowId } from '../../workflows/messages.js';
import { storedOnboarding } from '../support/stored-onboarding.js';
import { eventually, log, startTestWorker, type TestWorker } from '../worker/support.js';
import { recordHistory } from './history-file.js';

let worker: TestWorker;
beforeAll(async () => {
  worker = await startTestWorker({ jobs: (parts) => [createOnboardingStarter({ ...parts, log })] });
});
afterAll(() => worker?.stop());

const record = (name: string, id: string) => recordHistory(worker.client, name, onboardingWorkflowId(id));
const handle = (id: string) => worker.client.workflow.getHandle(onboardingWorkflowId(id));

/** Waits until the workflow has a timer. */
const waits = (id: string) =>
  eventually(async () => {
    const { events } = await handle(id)
      .fetchHistory()
      .catch(() => ({ events: [] }));
    return events?.some(({ timerStartedEventAttributes: timer }) => timer != null);
  });

it('expired', async () => {
  const id = await storedOnboarding(worker.database, { inMs: 8000 });
  await waits(id);
  await handle(id).result();
  await record('onboarding-expired', id);
});

it('decided while it waits', async () => {
  const id = await storedOnboarding(worker.database, { inMs: 3_600_000 });
  await waits(id);
  await record('onboarding-open', id);
  await worker.database.transaction((tx) => endOnboarding(tx, id, { status: 'rejected', by: 'otto', comment: 'marker-comment' }));
  await handle(id).result();
  await record('onboarding-decided', id);
});

it('not stored', async () => {
  const id = randomUUID();
  const workflowId = onboardingWorkflowId(id);
  await worker.client.workflow.execute(onboardingWorkflow, { workflowId, taskQueue: worker.taskQueue, args: [{ id }] });
  await record('onboarding-not-stored', id);
});
