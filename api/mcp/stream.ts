import { limitDatabaseWork } from '../../db/call-limit.js';
import { endCall, type McpCallKey } from '../../db/mcp-calls.js';
import { readStream, type StreamNews } from '../../db/mcp-streams.js';
import { topic } from '../../db/notifications.js';
import { interruptedText } from '../../domain/mcp-texts.js';
import { createBell } from '../../lib/bell.js';
import type { Services } from '../context.js';
import { eventComment, eventText } from '../http/event-stream.js';

/** Looks unasked, for news whose sender died before it notified. */
const lookEveryMs = 5000;
/** How long a stream stays open after a drain began, for answers that the drain causes; the client resumes elsewhere by `Last-Event-Id` (OP-62). */
const drainMs = 4000;
const databaseMs = 4000;

interface From {
  /** The number of the last event that the client has. */
  after: number;
  /** Whether the client may still read, asked after each wait (HT-103). Throws if not. */
  recheck: () => Promise<unknown>;
  /** After so long without an event, a comment line is sent, so that proxies see that the stream lives (MC-22). */
  commentMs: number;
}

/** The events of a call's stream, each once and in order, until its response (MC-22). A gap breaks the connection (MC-I2). */
export async function* streamOf(
  services: Services,
  key: McpCallKey,
  { after, recheck, commentMs }: From,
): AsyncGenerator<string> {
  const { database, notifications, lifecycle } = services;
  const bell = createBell();
  const topics = [topic.mcpStream(key.id), topic.mcp(key.sessionId)];
  const releases = [...topics.map((name) => notifications.subscribe(name, bell.ring)), lifecycle.onDrain(bell.ring)];
  let at = after;
  let saidAt = performance.now();
  let closeAt = Number.POSITIVE_INFINITY;
  try {
    for (let waited = false; ; ) {
      const news = await limitDatabaseWork(databaseMs, () => readStream(database, key, at));
      if (news === undefined) return;
      if (waited && news.events.length > 0) await limitDatabaseWork(databaseMs, recheck);
      for (const { seq, message } of news.events) {
        if (seq !== at + 1) throw gap();
        yield eventText({ id: `${key.id}:${seq}`, data: message });
        at = seq;
        saidAt = performance.now();
      }
      if (isWhole(news, at)) return;
      if (news.events.length > 0) continue;
      if (await isAnsweredForDead(services, key, news)) continue;
      if (lifecycle.draining) closeAt = Math.min(closeAt, performance.now() + drainMs);
      if (performance.now() >= closeAt) return;
      await bell.wait(Math.ceil(Math.min(lookEveryMs, closeAt - performance.now(), saidAt + commentMs - performance.now())));
      waited = true;
      if (performance.now() - saidAt < commentMs) continue;
      yield eventComment;
      saidAt = performance.now();
    }
  } finally {
    for (const release of releases) release();
  }
}

const gap = () => new Error('the client is too slow: events that it lacks are gone');

function isWhole({ ended, lastSeq, events }: StreamNews, at: number): boolean {
  if (ended && at < lastSeq && events.length === 0) throw gap();
  return ended && at >= lastSeq;
}

/** MC-24: whichever process notices writes the response, once. */
async function isAnsweredForDead(services: Services, key: McpCallKey, { dead, ended, rpcId }: StreamNews): Promise<boolean> {
  if (!dead || ended) return false;
  const { replayBufferSize: buffer } = services.config().mcp;
  const end = { response: interruptedText(rpcId), buffer, who: 'dead' } as const;
  await limitDatabaseWork(databaseMs, () => endCall(services.database, key.id, end));
  services.notifications.publish([topic.mcpStream(key.id)]);
  return true;
}

/** How a stream of a POST opens. */
export async function* opened({ id }: McpCallKey, events: AsyncIterable<string>): AsyncGenerator<string> {
  yield eventText({ id: `${id}:0` });
  yield* events;
}
