import type { Logger } from 'pino';
import { createStep } from '../activities/step.js';
import type { Database } from '../db/client.js';
import type { Moved } from '../db/move.js';
import type { Configuration } from '../runtime/configuration.js';
import type { Metrics } from '../runtime/metrics.js';
import { createDeliveries } from './deliveries.js';
import { createOnboardings } from './onboarding.js';
import { createSlackCards } from './slack-cards.js';
import { describeError } from './temporal-errors.js';

interface ActivitiesOptions {
  configuration: Configuration;
  database: Database;
  metrics: Metrics;
  log: Logger;
  onMoved: (moved: Moved) => void;
}

/** What workflows do, but for the anchor of the audit log, which not every worker has. */
export function createActivities({ onMoved, ...parts }: ActivitiesOptions) {
  const onFailure = (error: unknown) =>
    parts.log.warn({ error: describeError(error) }, 'a step of a workflow failed; it is tried again');
  return {
    ...createStep({ database: parts.database, onMoved, onFailure }),
    ...createDeliveries(parts),
    ...createOnboardings(parts),
    ...createSlackCards(parts),
  };
}
