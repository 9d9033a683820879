import type { LineFacts } from '../domain/slack/thread.js';
import type { Queryable } from './client.js';

/** A card with what it still has to say. */
export interface CardWork {
  id: string;
  requestId: string | null;
  onboardingId: string | null;
  /** Where it goes: a name or an id of a channel, or the Slack id of a person. */
  channel: string;
  /** Slack's answer to its posting; null before there is one (SL-63). */
  posted: { channelId: string; ts: string } | null;
  wanted: number;
  shown: number;
  /** How many calls in a row have failed, and how long ago that began. */
  failures: number;
  failingMs: number;
  /** Until the next attempt. */
  waitMs: number;
  /** The next line of its thread. */
  line: { id: number; facts: LineFacts } | null;
}

/** Undefined once its request or onboarding is purged. */
export async function findCardWork(db: Queryable, id: string): Promise<CardWork | undefined> {
  const [row] = await db.query<CardWork>(
    `select c.id, request_id as "requestId", onboarding_id as "onboardingId", channel,
       case when ts is not null then jsonb_build_object('channelId', channel_id, 'ts', ts) end as posted, wanted, shown, attempts as failures,
       coalesce(extract(epoch from clock_timestamp() - failing_since) * 1000, 0)::bigint as "failingMs",
       greatest(0, ceil(extract(epoch from next_attempt_at - clock_timestamp()) * 1000))::bigint as "waitMs",
       (select jsonb_build_object('id', l.id, 'facts', l.facts) from slack_lines l where l.card_id = c.id order by l.id limit 1) as line
     from slack_cards c where c.id = $1`,
    [id],
  );
  return row;
}

const wentWell = 'attempts = 0, failing_since = null';

/** Stores that the card shows change `wanted`, and the message that does (SL-63). */
export async function storeShown(
  db: Queryable,
  { id, wanted }: Pick<CardWork, 'id' | 'wanted'>,
  { channelId, ts }: NonNullable<CardWork['posted']>,
): Promise<void> {
  await db.query(`update slack_cards set shown = greatest(shown, $2), channel_id = $3, ts = $4, ${wentWell} where id = $1`, [
    id,
    wanted,
    channelId,
    ts,
  ]);
}

/** Deletes a line that was posted or is given up. */
export async function removeLine(db: Queryable, { id }: Pick<CardWork, 'id'>, lineId: number): Promise<void> {
  await db.query(
    `with said as (delete from slack_lines where id = $2)
     update slack_cards set ${wentWell} where id = $1 and failing_since is not null`,
    [id, lineId],
  );
}

/** The next attempt is due in `ms`. */
export async function storeFailure(db: Queryable, { id }: Pick<CardWork, 'id'>, ms: number): Promise<void> {
  await db.query(
    `update slack_cards set attempts = attempts + 1, failing_since = coalesce(failing_since, clock_timestamp()),
       next_attempt_at = clock_timestamp() + $2::bigint * interval '1 millisecond' where id = $1`,
    [id, ms],
  );
}

/** Slack has the message no more: the next attempt posts another. */
export async function forgetMessage(db: Queryable, { id }: Pick<CardWork, 'id'>): Promise<void> {
  await db.query('update slack_cards set channel_id = null, ts = null where id = $1', [id]);
}

/** Change `wanted` is not shown and, if `thread` is given up too, no line that waits now is posted. */
export async function giveUp(db: Queryable, { id, wanted }: Pick<CardWork, 'id' | 'wanted'>, thread: boolean): Promise<void> {
  await db.query(
    `with unsaid as (delete from slack_lines where card_id = $1 and $3)
     update slack_cards set shown = greatest(shown, $2), ${wentWell} where id = $1`,
    [id, wanted, thread],
  );
}
