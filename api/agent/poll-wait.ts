import type { z } from 'zod';
import { type AgentReport, touchAgent } from '../../db/agents.js';
import type { Work } from '../../db/claimable-jobs.js';
import type { Vouched } from '../../db/client.js';
import { plansAfterMs } from '../../db/dry-run-jobs.js';
import { topic } from '../../db/notifications.js';
import type { Caller } from '../../domain/caller.js';
import type { Services } from '../context.js';
import { longPoll } from '../http/long-poll.js';
import type { Call } from '../http/route.js';
import type { Watch, Watches } from '../http/watches.js';
import { agentOf } from './caller.js';
import type { CancelWatch, ToldCancels } from './cancels.js';
import { readyPoll } from './new-claim.js';
import { claimantOf, isEmpty, lookForWork, nothingOffered, type Offer, offer, type Wanted } from './offer.js';
import { maxExplains, maxJobs, maxWaitMs, type pollBody } from './poll-body.js';
import { claimOffered } from './poll-claims.js';
import type { SnapshotAsks, takeAsks } from './snapshot-asks.js';
import { takePlace, type WaitingPolls } from './waiting-polls.js';

/** A poll that waited for less, or is followed by another within this time, needs no further record. */
const touchAfterMs = 1000;
/** News of other processes reaches a poll that waits for as long (AG-23); a shorter one looks itself. */
const newsWithinMs = 1000;

export type PollCall = Call<undefined, undefined, z.output<typeof pollBody>>;

/** What this process remembers of polls. */
export interface PollMemory {
  waiting: WaitingPolls;
  asks: SnapshotAsks;
  told: ToldCancels;
  /** By agent and what it asks for. */
  watches: Watches<Work>;
  /** The shortest lease (AG-37). */
  leaseFloorMs: number;
  /**
   * A frozen or disconnected agent leaves its poll waiting, and a job claimed for it would be lost when its lease ends. So after this wait a poll
   * only offers jobs, and the agent claims them itself (AG-80).
   */
  claimWithinMs: number;
}

/** What recording the poll turned up; if anything, the poll is answered without waiting. */
export interface Told {
  /** Pairs whose snapshot the agent must send. */
  snapshots: ReturnType<typeof takeAsks>;
  /** Answers of claims that it did not get. */
  lost: string[];
  /** The key that signs for the agent; null before its first poll. */
  signingKeyId: string | null;
}

interface Waiting {
  report: AgentReport;
  /** The agent gets no work. */
  none: boolean;
  memory: PollMemory;
  cancels: CancelWatch;
  told: Told;
  /** Records the poll, with its first look. */
  begin(look?: (db: Vouched) => Promise<Work>): Promise<Work>;
}

/** Records the poll and looks for work, again and again while the agent waits. */
export async function waitForOffer(call: PollCall, services: Services, waiting: Waiting): Promise<Offer> {
  const { report, none, begin } = waiting;
  const { limit, explain_limit: explains, claim, wait_ms: waitMs, holding } = call.body;
  const wanted = { jobs: Math.min(limit, maxJobs), explains: Math.min(explains, maxExplains), claim };
  if (none || wanted.jobs + wanted.explains + waitMs + holding.length === 0) {
    await begin();
    return nothingOffered;
  }
  const ended = new AbortController();
  const signal = AbortSignal.any([call.signal, ended.signal]);
  const asked = JSON.stringify([report.scopes, report.operations, report.features, wanted.jobs > 0, wanted.explains > 0, claim]);
  const topics = topicsOf(report);
  const place: Place = {
    wanted,
    signal,
    watch: waiting.memory.watches.join(services.notifications, `${report.id} ${asked}`, topics),
    startedAt: performance.now(),
    leave: () => {},
    leaveReady: async () => null,
    end: () => ended.abort(),
  };
  try {
    const options = { topics, ms: Math.min(waitMs, maxWaitMs) };
    const look = (woken: boolean, ring: () => void) => lookOnce(call, services, { ...waiting, place, ring }, woken);
    const offered = await longPoll({ ...call, signal }, services, options, look);
    const claimed = await place.leaveReady();
    if (claimed !== null) return { ...nothingOffered, claims: [claimed] };
    return offered ?? nothingOffered;
  } finally {
    clearTimeout(place.nextLook);
    place.watch.leave();
    place.leave();
    // A claim that a failed poll does not answer is answered by the agent's next one (AG-81).
    void place.leaveReady();
    if (performance.now() - place.startedAt > touchAfterMs) touchLater(services, waiting.memory.waiting, report.id);
  }
}

/** A poll's place among those that wait. */
interface Place {
  wanted: Wanted;
  signal: AbortSignal;
  watch: Watch<Work>;
  /** When its first look had ended. */
  startedAt: number;
  /** For a plan that is offered soon. At most one: looks for other news find the plan too. */
  nextLook?: NodeJS.Timeout;
  leave(): void;
  /** The answer of a claim that was made with a dispatch, or null. */
  leaveReady(): Promise<string | null>;
  end(): void;
}

type Looking = Waiting & { place: Place; ring(): void };

const topicsOf = ({ id, scopes }: AgentReport) => [
  ...scopes.map(({ database, environment }) => topic.jobs(database, environment)),
  topic.cancels(id),
];

async function lookOnce(call: PollCall, services: Services, looking: Looking, woken: boolean): Promise<Offer | null> {
  const { report, memory, cancels, told, begin, place } = looking;
  const { wanted } = place;
  const answer = await place.leaveReady();
  if (answer !== null) return { ...nothingOffered, claims: [answer], cancelled: await cancels.take() };
  const look = (db: Vouched) => place.watch.look(() => lookForWork(services, db, claimantOf(services, report), wanted));
  const isQuiet = call.body.wait_ms >= newsWithinMs && place.watch.standing() !== null;
  const [now, work] = woken ? await call.recheckBeside(look) : [call.caller, await begin(isQuiet ? undefined : look)];
  if (!woken) place.startedAt = performance.now();
  // If the token was narrowed during the wait, the agent must poll again.
  if (!sameScopes(now, call.caller)) return nothingOffered;
  const all = await offerOrClaim(call, services, looking, work);
  // An agent that must send a snapshot, or that lost a claim, is answered immediately.
  if (!isEmpty(all) || told.snapshots.length + told.lost.length > 0) return all;
  if (!woken && call.body.wait_ms > 0) place.leave = takePlace(memory.waiting, call.caller.id, place.end);
  if (wanted.claim && wanted.jobs > 0) place.leaveReady = beReady(call, services, looking);
  if (work.dryRunSoon && wanted.explains > 0) {
    clearTimeout(place.nextLook);
    place.nextLook = setTimeout(looking.ring, plansAfterMs).unref();
  }
  return null;
}

/** What the agent gets of the work that was found, and the cancels that wait for it. */
async function offerOrClaim(
  call: PollCall,
  services: Services,
  { report, memory, cancels, told, place }: Looking,
  work: Work,
): Promise<Offer> {
  const { wanted, signal } = place;
  const mayClaim = () => isHere(signal, services);
  const loaded = { ...report, inFlight: report.inFlight + told.lost.length };
  const [found, cancelled] = await Promise.all([
    offer(services, { ...call, report: loaded }, { wanted, work }, mayClaim),
    cancels.take(),
  ]);
  const isClaiming = wanted.claim && isEarly(place, memory) && found.jobs.length > 0 && mayClaim();
  if (!isClaiming) return { ...found, cancelled };
  const claiming = { ...memory, report: loaded, jobs: found.jobs, limit: wanted.jobs };
  return { ...found, ...(await claimOffered(call, services, claiming)), cancelled };
}

const isEarly = ({ startedAt }: Place, { claimWithinMs }: PollMemory) => performance.now() < startedAt + claimWithinMs;

/** A claimed job is lost if the client is gone (HT-104). */
const isHere = (signal: AbortSignal, { lifecycle }: Services) => !signal.aborted && !lifecycle.draining;

/** Lets the poll claim what is dispatched in this process while it waits. Returns how to leave. */
function beReady(
  call: PollCall,
  services: Services,
  { report, memory, told, place, ring }: Looking,
): () => Promise<string | null> {
  const { signingKeyId } = told;
  if (signingKeyId === null) return async () => null;
  const mayClaim = () => isEarly(place, memory) && isHere(place.signal, services);
  const terms = { report, signingKeyId, leaseFloorMs: memory.leaseFloorMs, mayClaim };
  return services.readyPolls.join(readyPoll(call, services, terms), ring);
}

const sameScopes = (now: Caller, before: Caller) =>
  JSON.stringify(agentOf(now).agentScopes) === JSON.stringify(agentOf(before).agentScopes);

/** Counts the agent as seen until now, unless its next poll has come and said so (AG-14). */
function touchLater({ database, log }: Services, waiting: WaitingPolls, agentId: string): void {
  const touch = () => {
    if (waiting.has(agentId)) return;
    touchAgent(database, agentId).catch((error: unknown) => log.debug({ error: String(error) }, 'agent record not touched'));
  };
  setTimeout(touch, touchAfterMs).unref();
}
