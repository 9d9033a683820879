import type { CardNews } from '../domain/notifications/outgoing.js';
import type { Queryable, Transaction } from './client.js';
import { topic } from './notifications.js';

/** As JSON text, for `cardsInsert`. */
export const cardNewsRows = (news: readonly CardNews[]): string =>
  JSON.stringify(news.map(({ requestId, channels, lines, yields }) => ({ request_id: requestId, channels, lines, yields })));

/**
 * Parts of a larger statement: cards that are missing are made, the others are to be built again, and the lines wait in the order of the events (SL-51,
 * SL-52). The request's row is locked by then, so that lines of two changes of a request stand in the order of the changes. Nothing is written unless `guard`, a
 * part before them, has a row.
 */
export const cardsInsert = (parameter: string, guard: string): string =>
  `card_news as materialized (
    select * from jsonb_to_recordset(${parameter}::jsonb) as news(request_id uuid, channels text[], lines jsonb, yields boolean)
      where exists (select from ${guard})
  ), carded as (
    insert into slack_cards as card (id, request_id, channel, yields)
      select gen_random_uuid(), request_id, channel, yields from card_news, unnest(channels) as channel
      on conflict (request_id, channel) do update set ${askedAgain('excluded')} returning id, request_id
  ), lined as (
    insert into slack_lines (card_id, facts) select carded.id, line.facts
      from card_news join carded using (request_id), jsonb_array_elements(lines) with ordinality as line(facts, place)
      order by carded.id, line.place
  ), shown_elsewhere as (
    update slack_cards card set ${askedAgain('news')} from card_news news
      where card.request_id = news.request_id and card.channel <> all(news.channels)
  )`;

/** Due now, or when a failure lets it: its keeper must not take it for one that has waited since it was made. */
const due = `wanted = card.wanted + 1, told = false, taken_until = null,
  next_attempt_at = greatest(card.next_attempt_at, date_trunc('milliseconds', clock_timestamp()))`;

/** A card that Temporal is still to be told of for other news does not wait longer because of a suspension. */
const askedAgain = (news: string): string => `${due}, yields = ${news}.yields and (card.told or card.yields)`;

/** What is shown of an onboarding, in a channel or, with the Slack id of a person, in a direct message. */
export interface OnboardingCard {
  onboardingId: string;
  channel: string;
}

/** Has the card posted, or built again if there is one. */
export async function askForCard(tx: Transaction, { onboardingId, channel }: OnboardingCard): Promise<void> {
  await tx.query(
    `insert into slack_cards as card (id, onboarding_id, channel) values (gen_random_uuid(), $1, $2)
     on conflict (onboarding_id, channel) do update set ${due}`,
    [onboardingId, channel],
  );
  tx.wake(topic.cards);
}

/** Has all cards of an onboarding built again, wherever they were posted (SL-45). */
export async function rebuildCards(tx: Transaction, onboardingId: string): Promise<void> {
  await tx.query(`update slack_cards card set ${due} where onboarding_id = $1`, [onboardingId]);
  tx.wake(topic.cards);
}

/** Where the card of an onboarding is: the channel that Slack posted it to, else the one it is to be posted to. */
export async function findCardChannel(db: Queryable, onboardingId: string, slackUserId: string): Promise<string | null> {
  const [row] = await db.query<{ channel: string }>(
    'select coalesce(channel_id, channel) as channel from slack_cards where onboarding_id = $1 and channel <> $2',
    [onboardingId, slackUserId],
  );
  return row?.channel ?? null;
}
