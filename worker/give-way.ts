import { type CpuInfo, cpus, getPriority } from 'node:os';
import type { Queryable } from '../db/client.js';
import { countBacklog } from '../db/outbox.js';

/** News waits for callers no longer than this. */
const longestMs = 15_000;
/**
 * One caller who asks again at once takes 0.55 of a machine with two cores; on one with four there is room for everybody. 50 reads per second take
 * 0.4 of two cores, and Temporal keeps pace.
 */
const crowdedFrom = 0.45;
/** The kernel counts in ticks of 10 ms, so that the share of a shorter span says little. */
const spanMs = 200;

/** Whether news that has waited that long should wait on, so that callers have the processor that Temporal would take. */
export type GivesWay = (waitedMs: number) => Promise<boolean>;

/** News gives way while the machine is crowded, but not with more than half of `maxBacklog` waiting: with more than all of it, creations are refused (OP-72). */
export function createGivesWay(database: Queryable, maxBacklog: number, isCrowded = createCrowded()): GivesWay {
  return async (waitedMs) => waitedMs < longestMs && isCrowded() && (await countBacklog(database)) <= maxBacklog / 2;
}

type Processors = readonly Pick<CpuInfo, 'times'>[];

interface Machine {
  /** In milliseconds, from any start. */
  now(): number;
  priority(): number;
  /** Takes 0.1 ms and more for each processor, during which the process does nothing else. */
  cpus(): Processors;
}

const thisMachine: Machine = { now: () => performance.now(), priority: () => getPriority(), cpus };

/**
 * Tells whether work of normal priority keeps this machine busy and this process has a lower one, as Temporal beside it has under `svc dev`. A worker of
 * normal priority was not asked to stand back, and looks at no processor.
 */
export function createCrowded(machine: Machine = thisMachine): () => boolean {
  let last: { at: number; cpus: Processors } | undefined;
  let crowded = false;
  return () => {
    if (machine.priority() <= 0) return false;
    const at = machine.now();
    if (last !== undefined && at - last.at < spanMs) return crowded;
    const next = { at, cpus: machine.cpus() };
    crowded = last !== undefined && normalShare(last.cpus, next.cpus) > crowdedFrom;
    last = next;
    return crowded;
  };
}

/** Of all processor time between the two. What the kernel does for work of any priority is in `sys`, so it counts for nobody. */
function normalShare(before: Processors, after: Processors): number {
  const sum = (all: Processors, kinds: readonly (keyof CpuInfo['times'])[]) =>
    all.reduce((total, { times }) => total + kinds.reduce((some, kind) => some + times[kind], 0), 0);
  const spent = (kinds: readonly (keyof CpuInfo['times'])[]) => sum(after, kinds) - sum(before, kinds);
  return spent(['user']) / Math.max(1, spent(['user', 'nice', 'sys', 'idle', 'irq']));
}
