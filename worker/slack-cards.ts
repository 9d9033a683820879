import type { Logger } from 'pino';
import { createPostCard } from '../activities/slack-card.js';
import type { Database } from '../db/client.js';
import { refusesToken } from '../domain/slack/retry.js';
import type { Configuration } from '../runtime/configuration.js';
import type { Metrics } from '../runtime/metrics.js';
import { createSlackClient, slackIsOn } from '../runtime/slack-client.js';
import { createSlackLookups } from '../runtime/slack-lookups.js';
import type { SlackCardActivities } from '../workflows/messages.js';
import { describeError } from './temporal-errors.js';

/** Sends cards and the lines of their threads with the token that this worker's own file has now. */
export function createSlackCards(options: {
  configuration: Pick<Configuration, 'config' | 'generation'>;
  database: Database;
  metrics: Metrics;
  log: Logger;
}): SlackCardActivities {
  const { configuration, database, metrics, log } = options;
  const client = createSlackClient(() => configuration.config().slack);
  return createPostCard({
    database,
    isOn: () => slackIsOn(configuration.config().slack),
    call: (method, args) => client.call(method, args),
    lookUp: createSlackLookups(client),
    groupsWith: (role) =>
      configuration
        .generation()
        .shared.auth.groups.filter(({ roles }) => roles.includes(role))
        .map(({ name }) => name),
    publicUrl: () => configuration.config().server.publicUrl,
    onEnd(outcome, { requestId, onboardingId, channel }, error) {
      metrics.slackMessages.inc({ outcome });
      if (outcome !== 'dead') return;
      const about = requestId === null ? { onboarding_id: onboardingId } : { request_id: requestId };
      const refused = error !== null && refusesToken(error);
      log.error(
        { ...about, channel, error },
        refused ? 'Slack refuses the bot token; a message was not sent' : 'a message was not sent to Slack',
      );
    },
    onFailure: (error) =>
      log.warn({ error: describeError(error) }, 'a card in Slack could not be read or stored; it is tried again'),
  });
}
