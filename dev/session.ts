import { createReleases } from '../lib/releases.js';
import { type Child, lastLines } from './child.js';

/** A running piece of the gateway; `stop` ends it cleanly and waits. */
export interface Part {
  child: Child;
  /** Ends it at once, without a clean stop; SIGKILL if absent. */
  killSignal?: 'SIGQUIT';
  /** It is not on the path of a request: once all are ready, the others go first. */
  yields?: true;
  stop(): Promise<void>;
}

/** The parts of one development gateway: watched once added, stopped in reverse order. */
export interface Session {
  /** Aborts when the session must end, whatever the cause. */
  signal: AbortSignal;
  /** Why it ends: a dead part, with the end of its log; null = on request. */
  failure(): string | null;
  add(part: Part): void;
  /** Lets the parts that yield do so. On a busy machine, one that yields while it starts may never get to the end of it. */
  giveWay(): void;
  /** Runs `release` after the last part has stopped. */
  atEnd(release: () => void): void;
  /** Waits for all. When one fails the session ends, and this throws once the others have settled. */
  together<T extends unknown[]>(work: [...{ [index in keyof T]: Promise<T[index]> }]): Promise<T>;
  /** Asks for the end; the first cause counts. */
  end(failure?: string): void;
  /** Stops all parts, the last one added first. */
  stop(): Promise<void>;
  kill(): void;
}

export function createSession(): Session {
  const ending = new AbortController();
  const parts = new Set<Part>();
  const releases = createReleases((error) => process.stderr.write(`error: ${String(error)}\n`));
  let cause: string | null = null;

  const end = (failure?: string) => {
    if (ending.signal.aborted) return;
    cause = failure ?? null;
    ending.abort(new Error('stopped'));
  };
  return {
    signal: ending.signal,
    failure: () => cause,
    add(part) {
      parts.add(part);
      void part.child.exited.then((how) => end(describeDeath(part.child, how)));
    },
    giveWay() {
      for (const { child, yields } of parts) if (yields) child.giveWay();
    },
    atEnd: releases.add,
    async together<T extends unknown[]>(work: [...{ [index in keyof T]: Promise<T[index]> }]): Promise<T> {
      for (const one of work) one.catch((error: Error) => end(error.message));
      await Promise.allSettled(work);
      return (await Promise.all(work)) as T;
    },
    end,
    async stop() {
      end();
      for (let part = [...parts].pop(); part !== undefined; part = [...parts].pop()) {
        await part.stop();
        // Only now: until it has stopped, `kill` must find it.
        parts.delete(part);
      }
      await releases.all();
    },
    kill() {
      for (const { child, killSignal = 'SIGKILL' } of parts) void child.stop(killSignal, 1000);
    },
  };
}

function describeDeath(child: Child, how: string): string {
  const lines = lastLines(child.logFile, 10).replace(/^/gm, '  ');
  return `${child.name} ended by itself (${how}); the end of its log ${child.logFile}:\n${lines}`;
}
