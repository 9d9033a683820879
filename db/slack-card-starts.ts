import { topic } from './notifications.js';
import { untoldRows } from './untold.js';

/** A card whose workflow is to be started, or told that there is more. */
export interface UntoldCard {
  id: string;
  /** Of its request or its onboarding. */
  about: string;
  channel: string;
}

/** Oldest first. A card with a further change since stays untold. */
export const untoldCards = untoldRows<UntoldCard>({
  name: 'slack_cards',
  order: 'yields, created_at',
  columns: 'coalesce(d.request_id, d.onboarding_id) as about, d.channel',
  state: 'd.wanted',
  /** They have had something to send for so long without a failure that explains it. */
  overdue: `select id from slack_cards where told and next_attempt_at < clock_timestamp() - $1::int * interval '1 millisecond'
    and id in (select id from slack_cards where shown < wanted union select card_id from slack_lines) limit $2`,
  topic: topic.cards,
});
