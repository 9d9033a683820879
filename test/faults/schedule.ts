import { sleep } from '../../lib/sleep.js';
import { patientCalls } from './calls.js';
import { type Counts, countAll } from './count.js';
import { startLoad } from './load.js';
import { waitMs } from './looks.js';
import { killOne, type Lengths, type Outage } from './outages.js';
import { type Random, seededRandom } from './random.js';
import type { Stage } from './stage.js';

export interface Schedule {
  seed: number;
  /** Outages begin for at least this long, and until this many requests were made. */
  minutes: number;
  requests: number;
  callers: number;
  lengths: Lengths;
  /** In turn, each round in another order. */
  outages: readonly Outage[];
  /** Kills programs of the gateway beside them. */
  kills: boolean;
  /** Is told of each outage when it is over. */
  say(line: string): void;
}

export interface Outcome {
  /** How often each was played. */
  played: Record<string, number>;
  /** Those that cannot be played here, and why. */
  leftOut: Record<string, string>;
  counts: Counts;
  findings: string[];
}

/** Runs a load, plays outages, lets everything come back, and counts. */
export async function playSchedule(stage: Stage, schedule: Schedule): Promise<Outcome> {
  const { system } = stage;
  const calls = patientCalls(system);
  const leftOut = Object.fromEntries(
    schedule.outages.flatMap(({ name, missing }) => {
      const why = missing?.(stage) ?? null;
      return why === null ? [] : [[name, why]];
    }),
  );
  const possible = schedule.outages.filter(({ name }) => !Object.hasOwn(leftOut, name));
  const load = startLoad(system, calls, schedule);
  const endsAt = performance.now() + schedule.minutes * 60_000;
  const isOver = () => load.refused.length > 0 || (performance.now() >= endsAt && load.played.length >= schedule.requests);
  const played: Record<string, number> = {};
  const note = (name: string, what: string, startedAt: number) => {
    played[name] = (played[name] ?? 0) + 1;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    schedule.say(`${String(load.played.length).padStart(6)} requests  ${seconds.padStart(6)} s  ${name}: ${what}`);
  };
  await Promise.all([
    inTurn(possible, stage, schedule, { isOver, note }),
    schedule.kills ? killInTurn(stage, seededRandom(schedule.seed + 1), { isOver, note }) : null,
  ]);
  await load.stop(AbortSignal.timeout(5 * waitMs));
  return { played, leftOut, ...(await countAll(system, calls, load)) };
}

interface Course {
  isOver(): boolean;
  note(name: string, what: string, startedAt: number): void;
}

const pauseMs = [1000, 3000] as const;

/** The first round is whole, however short the time is. */
async function inTurn(
  all: readonly Outage[],
  stage: Stage,
  { seed, lengths }: Schedule,
  { isOver, note }: Course,
): Promise<void> {
  const random = seededRandom(seed);
  for (let round = 1; round === 1 || !isOver(); round += 1)
    for (const outage of random.shuffled(all)) {
      if (round > 1 && isOver()) return;
      await sleep(random.between(...pauseMs));
      const startedAt = performance.now();
      note(outage.name, await outage.play(stage, random, lengths), startedAt);
    }
}

async function killInTurn(stage: Stage, random: Random, { isOver, note }: Course): Promise<void> {
  while (!isOver()) {
    await sleep(random.between(...pauseMs));
    const startedAt = performance.now();
    note('kill -9', await killOne(stage, random), startedAt);
  }
}
