import type { Logger } from 'pino';
import type { Database } from '../../db/client.js';
import { signsOfLife } from '../../db/mcp-calls.js';
import { repeat } from '../../runtime/repeat.js';

/** Another process takes a call for dead after 15 s of silence (MC-24). */
const everyMs = 3000;
/** Calls that one statement signs for. */
const mostAtOnce = 1000;

/** Keeps all calls that this process answers marked as alive, with one statement for many. */
export interface CallSigns {
  /** Marks the call as alive until the returned function is called. Calls `onEnded`, perhaps repeatedly, once the call has ended. */
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
