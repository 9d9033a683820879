import { Context } from '@temporalio/activity';
import type { Database } from '../db/client.js';
import {
  type CardWork,
  findCardWork,
  forgetMessage,
  giveUp,
  removeLine,
  storeFailure,
  storeShown,
} from '../db/slack-card-work.js';
import { afterFailure, type FailedCall, giveUpAfterMs, mayPass, refusesToken, type SlackFailure } from '../domain/slack/retry.js';
import { sleep } from '../lib/sleep.js';
import { isUuid } from '../lib/uuid.js';
import type { SlackCardActivities } from '../workflows/messages.js';
import { later, stored } from './retried.js';
import { type CardTextOptions, messageOf } from './slack-card-text.js';

type Method = 'chat.postMessage' | 'chat.update' | 'conversations.join';

export type SlackReply = { ok: true; body: Readonly<Record<string, unknown>> } | ({ ok: false } & SlackFailure);

export interface PostCardOptions extends CardTextOptions {
  /** Whether this process has Slack on (SL-1). */
  isOn: () => boolean;
  /** Makes one call within 10 s. Never rejects. */
  call: (method: Method, args: Readonly<Record<string, unknown>>) => Promise<SlackReply>;
  /** Called with what became of each message. */
  onEnd?: (outcome: 'sent' | 'retried' | 'dead', card: CardWork, error: string | null) => void;
}

/** No call begins after so long. The last one and what belongs to it take at most 28 s: with it less than the 35 s that the workflow gives. */
const beginMs = 6000;
const record = { tries: 3, pauseMs: 500 };
/** Calls of a Slack that does not answer must leave room for deliveries. */
const maxRunning = 8;
const busyMs = { least: 250, most: 60_000 };
const off = { ok: false as const, error: 'slack_is_off', retryAfterSecs: null };

/** Sends what cards have to say (section 8 of the rules of Slack). The stored rows decide; Temporal brings it here when it is due. */
export function createPostCard(options: PostCardOptions): SlackCardActivities {
  let running = 0;
  return {
    async postCard(id) {
      if (!isUuid(id)) return;
      if (running >= maxRunning) throw later('this worker is busy with Slack', untilRoomMs(Context.current().info.attempt));
      running += 1;
      try {
        await sendAll(options, id);
      } finally {
        running -= 1;
      }
    },
  };
}

/** Longer each time, so that many cards that wait while Slack is down do not keep the worker busy with asking. */
const untilRoomMs = (attempt: number) =>
  Math.min(busyMs.most, busyMs.least * 2 ** Math.min(attempt, 8)) * (0.5 + Math.random() / 2);

/** What one run has found out about the channel. */
interface Channel {
  toJoin: boolean;
  joined: boolean;
}

async function sendAll(options: PostCardOptions, id: string): Promise<void> {
  const until = performance.now() + beginMs;
  const channel: Channel = { toJoin: false, joined: false };
  for (;;) {
    const card = await stored(options.onFailure, () => findCardWork(options.database, id));
    if (card === undefined) return;
    const kind = nextOf(card);
    if (kind === null) return;
    if (card.waitMs > 0) throw later('not due yet', card.waitMs);
    if (performance.now() > until) throw later('there is more to send', 1);
    const sending = { card, kind, channel };
    if (channel.toJoin) await join(options, sending);
    else await send(options, sending);
  }
}

/** The card comes first, so that no line stands in the thread of one that does not show it yet. */
function nextOf({ posted, shown, wanted, line }: CardWork): FailedCall['kind'] | null {
  if (shown >= wanted && line === null) return null;
  if (posted === null) return 'post';
  return shown < wanted ? 'update' : 'line';
}

interface Sending {
  card: CardWork;
  kind: FailedCall['kind'];
  channel: Channel;
}

async function join(options: PostCardOptions, sending: Sending): Promise<void> {
  const { card, channel } = sending;
  channel.toJoin = false;
  channel.joined = true;
  const reply = await options.call('conversations.join', { channel: card.posted?.channelId ?? card.channel });
  // Whether it worked, or never will, shows when the message is sent again.
  if (!reply.ok && mayPass(reply.error)) await failed(options, sending, reply);
}

async function send(options: PostCardOptions, sending: Sending): Promise<void> {
  const { card, kind } = sending;
  const reply = options.isOn() ? await sendMessage(options, card, kind) : off;
  // There is nothing to show any more.
  if (reply === null) return stored(options.onFailure, () => giveUp(options.database, card, true));
  if (!reply.ok) return failed(options, sending, reply);
  await recorded(options, () => keep(options.database, card, kind, reply.posted));
  options.onEnd?.('sent', card, null);
}

/** A message that Slack took and nobody recorded would be sent again, so recording it is tried more than once (SL-63). */
async function recorded({ onFailure }: PostCardOptions, work: () => Promise<void>): Promise<void> {
  for (let tries = 1; tries < record.tries; tries += 1) {
    try {
      return await stored(onFailure, work);
    } catch {
      await sleep(record.pauseMs);
    }
  }
  return stored(onFailure, work);
}

type Posted = NonNullable<CardWork['posted']>;

async function sendMessage(
  options: PostCardOptions,
  card: CardWork,
  kind: FailedCall['kind'],
): Promise<{ ok: true; posted: Posted } | ({ ok: false } & SlackFailure) | null> {
  const message = await messageOf(options, card, kind);
  if (message === null) return null;
  const { posted } = card;
  const where = posted === null ? { channel: card.channel } : { channel: posted.channelId };
  const which = posted === null ? {} : kind === 'update' ? { ts: posted.ts } : { thread_ts: posted.ts };
  const plain = kind === 'update' ? {} : { unfurl_links: false, unfurl_media: false };
  const reply = await options.call(kind === 'update' ? 'chat.update' : 'chat.postMessage', {
    ...where,
    ...which,
    ...plain,
    ...message,
  });
  if (!reply.ok) return reply;
  if (posted !== null) return { ok: true, posted };
  const { channel, ts } = reply.body;
  if (typeof channel !== 'string' || typeof ts !== 'string') return { ok: false, error: 'invalid_answer', retryAfterSecs: null };
  return { ok: true, posted: { channelId: channel, ts } };
}

const keep = (database: Database, card: CardWork, kind: FailedCall['kind'], posted: Posted) =>
  kind === 'line' && card.line !== null ? removeLine(database, card, card.line.id) : storeShown(database, card, posted);

async function failed(options: PostCardOptions, { card, kind, channel }: Sending, failure: SlackFailure): Promise<void> {
  const { database, onFailure, onEnd } = options;
  const { failures, failingMs } = card;
  const next = afterFailure(failure, { kind, failures, failingMs, joined: channel.joined });
  switch (next.kind) {
    case 'join':
      channel.toJoin = true;
      return;
    case 'post_anew':
      return stored(onFailure, () => forgetMessage(database, card));
    case 'retry':
      await stored(onFailure, () => storeFailure(database, card, next.ms));
      onEnd?.('retried', card, failure.error);
      throw later(`Slack did not take it: ${failure.error}`, next.ms);
    case 'give_up': {
      // What else is to be said would fail for the same reason.
      const all = kind === 'post' || refusesToken(failure.error) || failingMs >= giveUpAfterMs;
      const { line } = card;
      await stored(onFailure, () =>
        kind === 'line' && line !== null && !all ? removeLine(database, card, line.id) : giveUp(database, card, all),
      );
      onEnd?.('dead', card, failure.error);
    }
  }
}
