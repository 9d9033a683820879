import type { Logger } from 'pino';
import { createOnboarding } from '../activities/onboarding.js';
import type { Database } from '../db/client.js';
import type { Configuration } from '../runtime/configuration.js';
import { slackIsOn } from '../runtime/slack-client.js';
import type { OnboardingActivities } from '../workflows/messages.js';
import { describeError } from './temporal-errors.js';

/** The end of onboardings by the clock, told to applicants if this worker has Slack on now. */
export function createOnboardings(options: {
  configuration: Pick<Configuration, 'config'>;
  database: Database;
  log: Logger;
}): OnboardingActivities {
  const { configuration, database, log } = options;
  return createOnboarding({
    database,
    tellsSlack: () => slackIsOn(configuration.config().slack),
    onFailure: (error) =>
      log.warn({ error: describeError(error) }, 'an onboarding could not be read or ended; it is tried again'),
  });
}
