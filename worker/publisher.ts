import type { Logger } from 'pino';
import type { Database } from '../db/client.js';
import { topic } from '../db/notifications.js';
import {
  deleteNews,
  holdNews,
  type News,
  nextNewsInMs,
  releaseHeldNews,
  returnNews,
  type TakenNews,
  takeNews,
} from '../db/outbox.js';
import { aboutRequest } from '../tracing/attributes.js';
import { noTracing, type Tracing } from '../tracing/tracing.js';
import type { GivesWay } from './give-way.js';
import type { Job } from './job.js';
import { type Addressee, isAlreadyStarted, signalIfRunning, signalWorkflow, startWorkflow } from './send-news.js';
import { describeError } from './temporal-errors.js';
import { probeMs, type TemporalLink, type UsableTemporal } from './temporal-link.js';
import { createWindow, type Window } from './window.js';

export interface PublisherOptions {
  database: Database;
  temporal: TemporalLink;
  taskQueue: string;
  log: Logger;
  tracing?: Tracing;
  givesWay?: GivesWay;
}

/** How many requests' news may be in flight: enough to hide Temporal's latency, few enough for its history service. */
const inFlightLimits = { min: 4, max: 32 };
/** A take lasts 10 s. Sending stops earlier, so that no other publisher sends at the same time. */
const sendForMs = 5000;
const longestPauseMs = 2000;
const shortestPauseMs = 20;
/** News of this long shares a take, unless there is more of it than one take holds. */
const gatherMs = 100;
const lookAgainMs = 250;

/** Tells workflows what was committed. Takes news, sends each request's news in version order, and deletes exactly what Temporal accepted. */
export function createPublisher(options: PublisherOptions): Job {
  const { database, temporal, givesWay = async () => false } = options;
  const inFlight = new Set<Promise<void>>();
  const window = createWindow(inFlightLimits);
  const remove = createRemover(database);
  let looksAt = 0;
  /** What waited for Temporal does not wait for callers too (OP-72). */
  let catchesUp = false;
  /** Held news waits although Temporal is back. */
  let toRelease = false;
  /** Notifications cannot shorten it. */
  const pauseFrom = (from: number, ms: number) => {
    looksAt = from + ms;
    return ms;
  };
  return {
    name: 'publisher',
    wakeOn: topic.outbox,
    async once() {
      const usable = await temporal.find();
      if (usable === null) return probeMs;
      toRelease ||= temporal.takeReturn();
      if (toRelease) await releaseHeldNews(database);
      catchesUp ||= toRelease;
      toRelease = false;
      // Waits for a quarter of the window, so that each take covers several requests.
      while (window.size - inFlight.size < window.size / 4) await Promise.race(inFlight);
      const looksInMs = looksAt - performance.now();
      if (looksInMs > 0) return looksInMs;
      const dueInMs = (await nextNewsInMs(database)) ?? longestPauseMs;
      if (dueInMs > 0) return Math.min(longestPauseMs, Math.max(shortestPauseMs, dueInMs));
      if (!catchesUp && (await givesWay(-dueInMs))) return pauseFrom(performance.now(), lookAgainMs);
      const room = Math.max(1, window.size - inFlight.size);
      const taken = await database.transaction((tx) => takeNews(tx, room));
      const takenAt = performance.now();
      for (const one of taken) {
        const sending: Promise<void> = publish(options, one, { remove, usable, takenAt, window }).finally(() =>
          inFlight.delete(sending),
        );
        inFlight.add(sending);
      }
      if (taken.length === room) return 0;
      catchesUp = false;
      return pauseFrom(takenAt, gatherMs);
    },
    async finish() {
      await Promise.all(inFlight);
    },
  };
}

type Remover = (ids: number[]) => Promise<void>;

interface Take {
  remove: Remover;
  usable: UsableTemporal;
  /** By `performance.now()`. */
  takenAt: number;
  window: Window;
}

/** Never rejects: what could not be sent or deleted is due again when the take ends. */
async function publish(options: PublisherOptions, taken: TakenNews, take: Take): Promise<void> {
  const { database, taskQueue, log } = options;
  const { remove, usable, takenAt, window } = take;
  const to: Addressee = { requestId: taken.requestId, about: taken.about, taskQueue, searchable: usable.searchable };
  const waiting = [...taken.news];
  const sent: number[] = [];
  let failure: string | null = null;
  try {
    for (let news = waiting[0]; news !== undefined && performance.now() - takenAt < sendForMs; news = waiting[0]) {
      const sendingSince = performance.now();
      const started = await send(options.temporal, to, countedDown(news, sendingSince - takenAt));
      window.note(performance.now() - sendingSince);
      recordSent(options.tracing ?? noTracing, to, news, { started, sendingSince });
      sent.push(news.id);
      waiting.shift();
    }
  } catch (error) {
    failure = describeError(error);
    log.warn({ request_id: taken.requestId, error: failure }, 'Temporal did not take the news of a request');
  }
  const left = waiting.map(({ id }) => id);
  await Promise.all([
    sent.length > 0 && remove(sent),
    left.length > 0 && (failure === null ? returnNews(database, left) : holdNews(database, left, failure)),
  ]).catch((error: unknown) => log.warn({ error: describeError(error) }, 'the outbox could not be updated'));
}

function recordSent(
  tracing: Tracing,
  { requestId, about }: Addressee,
  { signal, view }: News,
  { started, sendingSince }: { started: boolean; sendingSince: number },
): void {
  tracing.record({
    requestId,
    name: started ? 'start workflow' : `signal workflow ${signal}`,
    kind: 'producer',
    startedAt: sendingSince,
    endedAt: performance.now(),
    attributes: about === null ? {} : aboutRequest({ ...about, status: view?.status ?? null }),
  });
}

/** Whether it started a run. */
async function send(temporal: TemporalLink, to: Addressee, news: News): Promise<boolean> {
  if (news.starts) {
    const started = await temporal.call('start', (client) =>
      startWorkflow(client, to, news).then(
        () => true,
        (error: unknown) => {
          if (isAlreadyStarted(error)) return false;
          throw error;
        },
      ),
    );
    if (started) return true;
  }
  const tell = news.view?.final && isByClock(news) ? signalIfRunning : signalWorkflow;
  await temporal.call('signal', (client) => tell(client, to, news));
  return false;
}

const isByClock = ({ signal, actor }: News) => signal === 'change' && actor === 'system';

/** `inMs` was measured when the news was taken. */
function countedDown(news: News, elapsedMs: number): News {
  const { view } = news;
  return view?.clock
    ? { ...news, view: { ...view, clock: { ...view.clock, inMs: view.clock.inMs - Math.round(elapsedMs) } } }
    : news;
}

/** Deletes in groups: while one statement runs, the next one collects what Temporal accepts. */
function createRemover(database: Database): Remover {
  let gathered: number[] = [];
  let next: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();
  return (ids) => {
    gathered.push(...ids);
    next ??= running.then(() => {
      const batch = gathered;
      gathered = [];
      next = undefined;
      const removal = deleteNews(database, batch);
      running = removal.catch(() => {});
      return removal;
    });
    return next;
  };
}
