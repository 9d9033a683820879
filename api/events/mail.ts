import { limitDatabaseWork } from '../../db/call-limit.js';
import { topic } from '../../db/notifications.js';
import type { Caller } from '../../domain/caller.js';
import { GatewayError } from '../../domain/errors.js';
import { canDecide } from '../../domain/request/judge-approve.js';
import { maySee } from '../../domain/request/relation.js';
import { matchesSelector } from '../../domain/selectors.js';
import { createBell } from '../../lib/bell.js';
import { createPermits } from '../../lib/permits.js';
import type { Moved } from '../../runtime/request-feed.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';

/** How many events wait for a slow client. One more, and the client is told to ask for everything again. */
const maxQueued = 200;
const databaseMs = 4000;
/** A credential that has expired by this clock, but not yet by the database's, is asked about no oftener. */
const expiredAgainMs = 1000;
/** Many streams end their wait at the same moment. They ask a few at a time: otherwise they would take all connections from other calls. */
const atOnce = createPermits(5);

export type EventCall = Pick<Call<undefined, undefined, undefined>, 'caller' | 'expiresAt' | 'recheck' | 'signal'>;

/** What a stream is about to be told. It begins with `resync`, because what happened before is not known. */
export class Mail {
  readonly #call: EventCall;
  readonly #services: Services;
  readonly #bell = createBell();
  readonly #releases: readonly (() => void)[];
  readonly #checkEveryMs: number;
  #checkedAt = performance.now();
  #caller: Caller;
  #judgedBy: number;
  #isLost = true;
  #isDoubtful = false;
  #queue: string[] = [];

  constructor(call: EventCall, services: Services, checkEveryMs: number) {
    this.#checkEveryMs = checkEveryMs;
    this.#call = call;
    this.#services = services;
    this.#caller = call.caller;
    this.#judgedBy = services.generation().number;
    this.#releases = [
      services.requestFeed.listen({ lost: () => this.#lose(), moved: (change) => this.#add(change) }),
      services.notifications.subscribe(topic.credentials(call.caller.id), () => this.#doubt()),
      services.lifecycle.onDrain(() => this.#bell.ring()),
    ];
  }

  /** Whether the caller has to be authenticated again before anything is told. */
  mustCheck(): boolean {
    return this.#isDoubtful || this.#isDue();
  }

  /** Events may come one after another for hours, without the silence that ends a wait. */
  #isDue(): boolean {
    const sinceMs = performance.now() - this.#checkedAt;
    const { expiresAt } = this.#call;
    return sinceMs >= this.#checkEveryMs || (expiresAt !== null && Date.now() >= expiresAt && sinceMs >= expiredAgainMs);
  }

  /** False once the credential has ended. */
  async check(): Promise<boolean> {
    this.#isDoubtful = false;
    this.#checkedAt = performance.now();
    this.#judgedBy = this.#services.generation().number;
    const checked = await recheck(this.#call);
    if (checked === null) return false;
    if (!seesAlike(this.#caller, checked)) this.#lose();
    this.#caller = checked;
    return true;
  }

  take(): { event: string; data: string }[] {
    const taken = this.#isLost ? [{ event: 'resync', data: '{}' }] : this.#queue.map((data) => ({ event: 'request', data }));
    this.#isLost = false;
    this.#queue = [];
    return taken;
  }

  /** True if something came before the time was up. */
  async wait(): Promise<boolean> {
    const { expiresAt, signal } = this.#call;
    const ms = this.#checkEveryMs;
    const leftMs = expiresAt === null ? ms : Math.max(expiresAt - Date.now(), expiredAgainMs);
    if (await this.#bell.wait(Math.min(ms, leftMs), signal)) return true;
    this.#isDoubtful = true;
    return false;
  }

  close(): void {
    for (const release of this.#releases) release();
  }

  #add(change: Moved): void {
    if (this.#isLost) return;
    // Another configuration may give the caller other roles.
    if (this.#services.generation().number !== this.#judgedBy) this.#doubt();
    else this.#tell(toldTo(this.#caller, change));
  }

  #tell(told: string | null): void {
    if (told === null) return;
    if (told === 'resync' || this.#queue.length === maxQueued) this.#lose();
    else {
      this.#queue.push(told);
      this.#bell.ring();
    }
  }

  #doubt(): void {
    this.#isDoubtful = true;
    this.#lose();
  }

  #lose(): void {
    this.#isLost = true;
    this.#queue = [];
    this.#bell.ring();
  }
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
    id,
    status,
    version,
    database,
    environment,
    requester,
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
