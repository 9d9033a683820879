import type { AuditType } from '../../domain/audit/catalogue.js';
import { sleep } from '../../lib/sleep.js';
import type { System } from '../support/system.js';
import { expectStatus, type PatientCalls } from './calls.js';
import { insertOf } from './looks.js';
import { type Random, seededRandom } from './random.js';

/** A request of the load, and what its caller was told. */
export interface Played {
  id: string;
  /** What it writes to the target, once; null for a read. */
  word: string | null;
  /** The events of everything that was acknowledged. */
  acknowledged: AuditType[];
}

/** One sort of request, and what its caller does after its creation. */
interface Kind {
  environment: string;
  detail(word: string): string;
  writes?: true;
  next?(caller: Caller, played: Played): Promise<void>;
}

interface Caller {
  calls: PatientCalls;
  tokens: System['tokens'];
  random: Random;
}

const passing: readonly Kind[] = [
  { environment: 'staging', detail: () => 'select 1 as one' },
  { environment: 'staging', detail: insertOf, writes: true },
  { environment: 'staging', detail: (word) => insertOf(word, ' from pg_sleep(0.2)'), writes: true },
];

/** Each caller takes one after the other, in an order of its own. */
const kinds: readonly Kind[] = [
  ...passing,
  ...passing,
  // An object in the result store (RS-63).
  { environment: 'staging', detail: () => "select repeat('x', 100000) as filler" },
  { environment: 'production', detail: insertOf, writes: true, next: approve },
  { environment: 'production', detail: (word) => insertOf(word, ' from pg_sleep(0.1)'), writes: true, next: approve },
  { environment: 'production', detail: insertOf, writes: true, next: reject },
  { environment: 'staging', detail: (word) => insertOf(word, ' from pg_sleep(0.2)'), writes: true, next: cancel },
  // Nobody approves it within its second.
  { environment: 'hasty', detail: insertOf, writes: true },
];

async function approve({ calls }: Caller, played: Played): Promise<void> {
  await calls.decide(played.id);
  played.acknowledged.push('request.approved', 'request.dispatched');
}

async function reject({ calls, tokens }: Caller, played: Played): Promise<void> {
  if ((await calls.act(tokens.bob, played.id, 'reject')).status === 200) played.acknowledged.push('request.rejected');
}

/** At any instant of the run, or after it. */
async function cancel({ calls, tokens, random }: Caller, played: Played): Promise<void> {
  await sleep(random.between(0, 400));
  if ((await calls.act(tokens.alice, played.id, 'cancel')).status === 200) played.acknowledged.push('request.cancelled');
}

/** Between a caller's requests: without it, the callers take the processors from what is under fault. */
const pauseMs = [0, 200] as const;

export interface Load {
  played: readonly Played[];
  /** Calls that were answered as no careful client would expect; each ended its caller. */
  refused: readonly string[];
  /** The idempotency keys of its requests, and what they write, begin so. */
  prefix: string;
  /** Makes no more requests; resolves when those under way are over, or the signal aborts. */
  stop(signal: AbortSignal): Promise<void>;
}

/** Callers who submit one request after the other and bring each to its end, whatever happens meanwhile. */
export function startLoad(system: System, calls: PatientCalls, { callers, seed }: { callers: number; seed: number }): Load {
  const played: Played[] = [];
  const refused: string[] = [];
  const prefix = `s${seed}c`;
  const stopping = new AbortController();
  const giving = new AbortController();
  const submit = async (n: number) => {
    const random = seededRandom(seed + n);
    const caller = { calls, tokens: system.tokens, random };
    for (let turn = 0, order: Kind[] = []; !stopping.signal.aborted; turn += 1) {
      if (order.length === 0) order = random.shuffled(kinds);
      const kind = order.pop()!;
      const word = `${prefix}${n}n${turn}`;
      const id = await calls.create(word, kind.environment, kind.detail(word));
      const created = kind.environment === 'staging' ? 'request.auto_approved' : 'request.created';
      const one: Played = { id, word: kind.writes ? word : null, acknowledged: [created] };
      played.push(one);
      await kind.next?.(caller, one);
      if (kind.environment !== 'hasty') await untilOver(caller, one, giving.signal);
      await sleep(random.between(...pauseMs));
    }
  };
  const refuse = (error: Error) => void refused.push(error.message);
  const ended = Promise.all(Array.from({ length: callers }, (_, n) => submit(n).catch(refuse)));
  return {
    played,
    refused,
    prefix,
    async stop(signal) {
      stopping.abort();
      const giveUp = () => giving.abort();
      signal.addEventListener('abort', giveUp, { once: true });
      const isGivenUp = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      await Promise.race([ended, isGivenUp]);
    },
  };
}

/** Statuses from which the request moves again only if somebody resumes it. */
const resumable = ['approved', 'execution_lost'];
const over = ['executed', 'failed', 'rejected', 'cancelled', 'expired'];

/** Resumes a request that was lost or found no agent; then reads the result. */
async function untilOver({ calls, tokens }: Caller, played: Played, signal: AbortSignal): Promise<void> {
  const path = `/api/requests/${played.id}`;
  for (let status = ''; !over.includes(status) && !signal.aborted; ) {
    status = String(expectStatus(await calls.call(tokens.alice, 'GET', `${path}?wait=2`), 200).status);
    if (resumable.includes(status)) await calls.act(tokens.alice, played.id, 'resume');
    if (status === 'executed') {
      if ((await calls.result(played.id)).success === true) played.acknowledged.push('execution.completed');
    }
  }
}
