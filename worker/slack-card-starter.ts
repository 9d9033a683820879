import { untoldCards } from '../db/slack-card-starts.js';
import { slackCardChanged, slackCardWorkflow, slackCardWorkflowId } from '../workflows/messages.js';
import type { Job } from './job.js';
import { type KeeperOptions, keepEveryMs, restoreLost } from './keeper.js';
import { inRounds } from './rounds.js';
import { createStarter, type Told } from './starter.js';

/** Makes the one workflow of each card look at it, and starts that workflow if it does not run (SL-60). */
export function createSlackCardStarter({ taskQueue, ...told }: Told): Job {
  return createStarter({
    ...told,
    rows: 'cards in Slack',
    operation: 'post to Slack',
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

/** Longer than a card waits for a free place in a worker. */
const cardGraceMs = 600_000;

/** Restores workflows of cards that Temporal has lost. */
export const createSlackCardKeeper = ({ everyMs = keepEveryMs, graceMs = cardGraceMs, ...options }: KeeperOptions): Job =>
  inRounds(options.database, {
    name: 'keeper of cards in Slack',
    everyMs,
    async part() {
      await restoreLost(options, { untold: untoldCards, rows: 'cards in Slack', graceMs });
      return false;
    },
  });
