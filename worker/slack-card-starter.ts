import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import { topic } from '../db/notifications.js';
import { retellOverdueCards, untoldCards } from '../db/slack-card-starts.js';
import { slackCardChanged, slackCardWorkflow, slackCardWorkflowId } from '../workflows/messages.js';
import type { Job } from './job.js';
import { inRounds } from './rounds.js';
import { createStarter } from './starter.js';
import type { TemporalLink } from './temporal-link.js';

export interface CardStarterOptions {
  database: Database;
  temporal: TemporalLink;
  taskQueue: string;
  log: Logger;
}

/** Makes the one workflow of each card look at it, and starts that workflow if it does not run (SL-60). */
export function createSlackCardStarter({ taskQueue, ...told }: CardStarterOptions): Job {
  return createStarter({
    ...told,
    rows: 'cards in Slack',
    operation: 'post to Slack',
    wakeOn: topic.cards,
    untold: untoldCards,
    tell: (client, { id, about, channel }) =>
      client.workflow.signalWithStart(slackCardWorkflow, {
        workflowId: slackCardWorkflowId(id),
        taskQueue,
        args: [{ id }],
        signal: slackCardChanged,
        signalArgs: [],
        staticSummary: `${about} in ${channel}`,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      }),
  });
}

const everyMs = 60_000;
const batch = 1000;
/** Longer than a card waits for a free place in a worker. */
const graceMs = 600_000;

/** Restores workflows of cards that Temporal has lost. */
export function createSlackCardKeeper(options: { database: Database; log: Logger; everyMs?: number; graceMs?: number }): Job {
  const { database, log } = options;
  return inRounds(database, {
    name: 'keeper of cards in Slack',
    everyMs: options.everyMs ?? everyMs,
    async part() {
      const retold = await database.transaction((tx) => retellOverdueCards(tx, options.graceMs ?? graceMs, batch));
      if (retold > 0) log.warn({ count: retold }, 'cards in Slack had no workflow and are started again');
      return false;
    },
  });
}
