import type { Logger } from 'pino';
import { createStep } from '../activities/step.js';
import type { Database } from '../db/client.js';
import type { Moved } from '../db/move.js';
import type { Configuration } from '../runtime/configuration.js';
import type { Metrics } from '../runtime/metrics.js';
import type { Troubles } from '../runtime/troubles.js';
import { createDeliveries } from './deliveries.js';
import { createOnboardings } from './onboarding.js';
import { createSlackCards } from './slack-cards.js';
import { describeError } from './temporal-errors.js';

interface ActivitiesOptions {
  configuration: Configuration;
  database: Database;
  metrics: Metrics;
  log: Logger;
  /** Tells of steps that fail: there may be one for each request that is open. */
  troubles: Troubles;
  onMoved: (moved: Moved) => void;
}

/** What workflows do, but for the anchor of the audit log, which not every worker has. */
export function createActivities({ onMoved, ...parts }: ActivitiesOptions) {
  const { troubles } = parts;
  const onFailure = (error: unknown) =>
    troubles.failed('step', error, 'a step of a workflow failed; it is tried again', { error: describeError(error) });
  const onSuccess = () => troubles.works('step');
  return {
    ...createStep({ database: parts.database, onMoved, onFailure, onSuccess }),
    ...createDeliveries(parts),
    ...createOnboardings(parts),
    ...createSlackCards(parts),
  };
}
