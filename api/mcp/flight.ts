import { randomUUID } from 'node:crypto';
import { limitDatabaseWork } from '../../db/call-limit.js';
import {
  addEvent,
  beginCall,
  dropEnded,
  endCall,
  endPlainCall,
  isInFlight,
  type McpCallKey,
  maxStreams,
} from '../../db/mcp-calls.js';
import type { McpSession } from '../../db/mcp-sessions.js';
import { topic } from '../../db/notifications.js';
import type { Caller } from '../../domain/caller.js';
import { notFound, refusal } from '../../domain/errors.js';
import { interruptedText } from '../../domain/mcp-texts.js';
import { createBell } from '../../lib/bell.js';
import { sleep } from '../../lib/sleep.js';
import type { Services } from '../context.js';
import { rightsOf } from './rights.js';
import type { RpcId } from './rpc.js';

const databaseMs = 4000;
/** Attempts to store a call's end, one per second: a shorter outage loses no answer. */
const endAttempts = 10;
const endPauseMs = 1000;

/** A call of a session that this process answers. */
export interface Flight {
  key: McpCallKey;
  /** Aborts when the call is cancelled or its session ends. */
  signal: AbortSignal;
  /** Ends the call with the response that its stream is to keep; false if somebody ended it before. */
  end(response: string): Promise<boolean>;
  /** The same for a call that has no stream. */
  endPlain(): Promise<boolean>;
}

interface Beginning {
  session: McpSession;
  caller: Caller;
  rpcId: RpcId;
  streams: boolean;
}

/** Begins a call in its session. Throws 409 for an id in flight, 429 for too many streams, 404 if the session has just ended. */
export async function begin(services: Services, call: Beginning): Promise<McpCallKey> {
  const { session, caller, rpcId, streams } = call;
  const key = { id: randomUUID(), sessionId: session.id };
  const { replayBufferSize: buffer } = services.config().mcp;
  const made = { ...key, rpcId, streams, rights: rightsOf(caller) };
  const begun = await beginCall(services.database, made, { interrupted: interruptedText, buffer });
  if (begun === 'gone') throw notFound('mcp_session');
  if (begun === 'in_flight') throw refusal('mcp.conflict', 'a call with this id is in flight', 'use a new id for each call');
  if (begun === 'begun') return key;
  services.metrics.rateLimited.inc({ limit: 'mcp' });
  throw refusal(
    'rate.limited',
    `this session has ${maxStreams} calls in flight, the most it may have`,
    'wait for one of them to end',
  );
}

/** Runs the work of a call, keeps it marked as alive, and aborts it when somebody ends the call. */
export async function fly<T>(services: Services, key: McpCallKey, work: (flight: Flight) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const done = new AbortController();
  const bell = createBell();
  const unsubscribe = services.notifications.subscribe(topic.mcp(key.sessionId), bell.ring);
  const forget = services.callSigns.keep(key.id, () => ended.abort());
  const watching = watch(services, key, { ended, done: done.signal, bell });
  try {
    return await work({
      key,
      signal: ended.signal,
      end: (response) => land(() => endStream(services, key, response)),
      endPlain: () => endPlain(services, key),
    });
  } finally {
    unsubscribe();
    forget();
    done.abort();
    await watching;
  }
}

/** Sends the client a message over the stream of its call. */
export async function send({ database, notifications, config }: Services, { key }: Flight, message: string): Promise<void> {
  await addEvent(database, key.id, message, config().mcp.replayBufferSize);
  notifications.publish([topic.mcpStream(key.id)]);
}

/** Checks the call at each notification of its session, so that it learns at once that it was ended. The signs of life are the fallback. */
async function watch(
  { database, log }: Services,
  { id }: McpCallKey,
  { ended, done, bell }: { ended: AbortController; done: AbortSignal; bell: ReturnType<typeof createBell> },
): Promise<void> {
  while (await bell.wait(Number.POSITIVE_INFINITY, done)) {
    try {
      if (!(await limitDatabaseWork(databaseMs, () => isInFlight(database, id)))) return ended.abort();
    } catch (error) {
      log.debug({ error: String(error) }, 'an MCP call does not know whether it goes on');
    }
  }
}

async function endStream({ database, notifications, config }: Services, key: McpCallKey, response: string): Promise<boolean> {
  const { replayBufferSize: buffer } = config().mcp;
  const isEnd = await endCall(database, key.id, { response, buffer });
  // Always notify readers: an earlier attempt may have stored the end and lost its answer.
  notifications.publish([topic.mcpStream(key.id)]);
  if (!isEnd) await dropEnded(database, key.sessionId);
  return isEnd;
}

async function endPlain({ database }: Services, { id }: McpCallKey): Promise<boolean> {
  let tried = false;
  return land(async () => {
    const again = tried;
    tried = true;
    // A missing row on a retry means that an earlier attempt was stored and only its answer was lost.
    return (await endPlainCall(database, id)) ?? again;
  });
}

async function land(end: () => Promise<boolean>): Promise<boolean> {
  for (let left = endAttempts; ; left -= 1) {
    try {
      return await limitDatabaseWork(databaseMs, end);
    } catch (error) {
      if (left <= 1) throw error;
      await sleep(endPauseMs);
    }
  }
}
