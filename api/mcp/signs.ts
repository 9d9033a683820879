import type { Logger } from 'pino';
import type { Database } from '../../db/client.js';
import { signsOfLife } from '../../db/mcp-calls.js';
import { repeat } from '../../runtime/repeat.js';

/** Another process takes a call for dead after 15 s of silence (MC-24). */
const everyMs = 3000;
/** Calls that one statement signs for. */
const mostAtOnce = 1000;

/** The signs of life of all calls that this process answers: one statement for many, however many sessions they have. */
export interface CallSigns {
  /** Signs for the call until the answer is called. `onEnded` is told if the call has ended, more than once maybe. */
  keep(id: string, onEnded: () => void): () => void;
  close(): Promise<void>;
}

export function createCallSigns({ database, log }: { database: Database; log: Logger }): CallSigns {
  const kept = new Map<string, () => void>();
  const sign = async (ids: readonly string[]) => {
    const open = new Set(await signsOfLife(database, ids));
    for (const id of ids) if (!open.has(id)) kept.get(id)?.();
  };
  const round = async () => {
    const ids = [...kept.keys()];
    const parts = Array.from({ length: Math.ceil(ids.length / mostAtOnce) }, (_, n) =>
      ids.slice(n * mostAtOnce, (n + 1) * mostAtOnce),
    );
    await Promise.all(parts.map(sign));
  };
  const signing = repeat({
    everyMs,
    work: round,
    onError: (error) => log.debug({ error: String(error) }, 'no signs of life of MCP calls'),
  });
  return {
    keep(id, onEnded) {
      kept.set(id, onEnded);
      return () => kept.delete(id);
    },
    close: signing.stop,
  };
}
