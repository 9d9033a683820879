import { limitDatabaseWork } from '../../db/call-limit.js';
import { topic } from '../../db/notifications.js';
import type { Caller } from '../../domain/caller.js';
import { GatewayError, refusal } from '../../domain/errors.js';
import { canDecide } from '../../domain/request/judge-approve.js';
import { maySee } from '../../domain/request/relation.js';
import { matchesSelector } from '../../domain/selectors.js';
import { createBell } from '../../lib/bell.js';
import { createPermits } from '../../lib/permits.js';
import type { FeedListener, Moved } from '../../runtime/request-feed.js';
import type { Services } from '../context.js';
import { eventComment, eventStream, eventText } from '../http/event-stream.js';
import type { Reply } from '../http/reply.js';
import type { Call } from '../http/route.js';

/** How many events wait for a slow client. One more, and the client is told to ask for everything again. */
const maxQueued = 200;
const databaseMs = 4000;
/** Many streams end their wait at the same moment. They ask a few at a time: otherwise they would take all connections from other calls. */
const atOnce = createPermits(5);
/** After a drain, clients come back at different moments. */
const retryMs = { least: 1000, spread: 4000 };

type EventCall = Pick<Call<undefined, undefined, undefined>, 'caller' | 'expiresAt' | 'recheck' | 'signal'>;

/** `GET /api/events` (CO-20). */
export function openEvents(call: EventCall, services: Services, { commentMs }: { commentMs: number }): Reply {
  if (services.lifecycle.draining) throw refusal('service.draining', 'server is shutting down');
  const { maxStreams } = services.config().console;
  if (services.eventStreams.open >= maxStreams)
    throw refusal('service.unavailable', `${maxStreams} event streams are open, and no more may be`);
  return eventStream(eventsOf(call, services, { commentMs, release: services.eventStreams.take(call.signal) }));
}

async function* eventsOf(
  call: EventCall,
  services: Services,
  { commentMs, release }: { commentMs: number; release: () => void },
): AsyncGenerator<string> {
  const mail = openMail(call, services);
  let number = 0;
  try {
    for (;;) {
      if (services.lifecycle.draining) {
        yield eventText({ retryMs: retryMs.least + Math.floor(Math.random() * retryMs.spread) });
        return;
      }
      if (mail.mustCheck() && !(await mail.check())) return;
      const events = mail.take();
      if (events.length > 0) yield events.map(({ event, data }) => eventText({ id: String(++number), event, data })).join('');
      // Before the next look, the credential is checked again, in case the news of its end was lost.
      else if (!(await mail.wait(commentMs))) yield eventComment;
      if (call.signal.aborted) return;
    }
  } finally {
    mail.close();
    release();
  }
}

interface Mail {
  /** Whether the caller has to be authenticated again before anything is told. */
  mustCheck(): boolean;
  /** False once the credential has ended. */
  check(): Promise<boolean>;
  take(): { event: string; data: string }[];
  /** True if something came before the time was up. */
  wait(ms: number): Promise<boolean>;
  close(): void;
}

/** What a stream is about to be told. It begins with `resync`, because what happened before is not known. */
function openMail(call: EventCall, { notifications, requestFeed, lifecycle, generation }: Services): Mail {
  const bell = createBell();
  let { caller } = call;
  let judgedBy = generation().number;
  let isLost = true;
  let isDoubtful = false;
  let queue: string[] = [];
  const lose = () => {
    isLost = true;
    queue = [];
    bell.ring();
  };
  const doubt = () => {
    isDoubtful = true;
    lose();
  };
  const listener: FeedListener = {
    lost: lose,
    moved(change) {
      if (isLost) return;
      // Another configuration may give the caller other roles.
      if (generation().number !== judgedBy) return doubt();
      const told = toldTo(caller, change);
      if (told === null) return;
      if (told === 'resync' || queue.length === maxQueued) return lose();
      queue.push(told);
      bell.ring();
    },
  };
  const releases = [
    requestFeed.listen(listener),
    notifications.subscribe(topic.credentials(caller.id), doubt),
    lifecycle.onDrain(bell.ring),
  ];
  return {
    mustCheck: () => isDoubtful,
    async check() {
      isDoubtful = false;
      judgedBy = generation().number;
      const checked = await recheck(call);
      if (checked === null) return false;
      if (!seesAlike(caller, checked)) lose();
      caller = checked;
      return true;
    },
    take() {
      const taken = isLost ? [{ event: 'resync', data: '{}' }] : queue.map((data) => ({ event: 'request', data }));
      isLost = false;
      queue = [];
      return taken;
    },
    async wait(ms) {
      const leftMs = call.expiresAt === null ? ms : Math.max(call.expiresAt - Date.now(), 1000);
      if (await bell.wait(Math.min(ms, leftMs), call.signal)) return true;
      isDoubtful = true;
      return false;
    },
    close: () => {
      for (const release of releases) release();
    },
  };
}

/** Whether both see the same requests, and can approve the same. */
function seesAlike(one: Caller, other: Caller): boolean {
  if (one.kind === 'agent' || other.kind === 'agent') return false;
  return JSON.stringify([one.roles, one.groups]) === JSON.stringify([other.roles, other.groups]);
}

/** What the caller is told of a change: an event, `resync` where it may have seen the request until now, or nothing. */
function toldTo(caller: Caller, { request, now, passed }: Moved): string | 'resync' | null {
  if (!maySee(caller, request)) return passed.some((selector) => matchesSelector(caller, selector, request)) ? 'resync' : null;
  const { id, status, version, database, environment, requester } = request;
  return JSON.stringify({
    ...{ id, status, version, database, environment, requester },
    pending_for_me: status === 'pending' && canDecide(request, caller, now),
  });
}

/** Null once the credential is refused, or cannot be checked. */
async function recheck({ recheck: ask, signal }: EventCall): Promise<Caller | null> {
  if (!(await atOnce.take(signal))) return null;
  try {
    return await limitDatabaseWork(databaseMs, ask);
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  } finally {
    atOnce.give();
  }
}
