import { topic } from './notifications.js';
import { untoldRows } from './untold.js';

/** An onboarding whose workflow is to be started, or told that it has ended. */
export interface UntoldOnboarding {
  id: string;
  ended: boolean;
  /** Overdue for so long that its workflow, if it runs, does not go on. */
  stuck: boolean;
}

export const untoldOnboardings = untoldRows<UntoldOnboarding>({
  name: 'slack_onboardings',
  order: 'created_at',
  columns: `d.status <> 'pending' as ended, d.expires_at < clock_timestamp() - interval '10 minutes' as stuck`,
  state: 'd.status',
  overdue: `select id from slack_onboardings where status = 'pending' and told and expires_at < clock_timestamp() - $1::int * interval '1 millisecond'
    order by expires_at limit $2`,
  topic: topic.onboardings,
});
