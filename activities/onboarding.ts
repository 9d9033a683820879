import { limitDatabaseWork } from '../db/call-limit.js';
import type { Database } from '../db/client.js';
import { expireIfDue } from '../db/expire-onboarding.js';
import { isUuid } from '../lib/uuid.js';
import type { OnboardingActivities } from '../workflows/messages.js';
import { failure } from './failure.js';

/** Less than the 2 s that the workflow gives an attempt. */
const databaseMs = 1800;

export interface OnboardingOptions {
  database: Database;
  /** Whether this process posts to Slack (SL-1). */
  tellsSlack: () => boolean;
  /** Called with the reason of a failure. Temporal does not learn it. */
  onFailure?: (error: unknown) => void;
}

/** The step of an onboarding's workflow: the clock's end (SL-45). The stored row decides. */
export function createOnboarding({ database, tellsSlack, onFailure }: OnboardingOptions): OnboardingActivities {
  return {
    async expireOnboarding(id) {
      if (!isUuid(id)) return notStored;
      try {
        const found = await limitDatabaseWork(databaseMs, () =>
          database.transaction((tx) => expireIfDue(tx, id, { tellsApplicant: tellsSlack() })),
        );
        if (found === null) return notStored;
        const { status, expiresAt, now } = found;
        return { status, inMs: status === 'pending' ? Math.max(0, expiresAt - now) : null };
      } catch (error) {
        onFailure?.(error);
        throw failure('the onboarding could not be read; the log of the worker says why', 'onboarding');
      }
    },
  };
}

const notStored = { status: 'not_stored', inMs: null };
