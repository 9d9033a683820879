import type { Logger } from 'pino';
import { GatewayError } from '../domain/errors.js';
import { outageIn } from './start-wait.js';

/** Tells what goes wrong again and again: when it begins, once a minute while it lasts, and when it is over. */
export interface Troubles {
  /** Parts that lack the same, such as the gateway's database, are in one trouble; what else a part fails from is its own, which `text` tells. */
  failed(part: string, error: unknown, text: string, fields?: Record<string, unknown>): void;
  works(part: string): void;
}

const everyMs = 60_000;
/** One that comes again sooner is told when this has passed, so that no coming and going fills the log. */
const againMs = 10_000;

interface Trouble {
  text: string;
  /** Those that still fail. */
  parts: Set<string>;
  failures: number;
  since: number;
  toldAt: number;
  /** That it has begun. */
  isTold: boolean;
}

/** `part` names no more than a fixed number of parts, because each is kept. `now` is in milliseconds. */
export function createTroubles(log: Logger, now: () => number = () => performance.now()): Troubles {
  const troubles = new Map<string, Trouble>();
  const leave = (part: string, others: Iterable<Trouble>) => {
    for (const trouble of others) {
      if (!trouble.parts.delete(part) || trouble.parts.size > 0) continue;
      if (trouble.isTold) log.info(lasted(trouble, now()), `over: ${trouble.text}`);
      Object.assign(trouble, { failures: 0, isTold: false });
    }
  };
  return {
    failed(part, error, text, fields) {
      const shared = error instanceof GatewayError ? error.message : null;
      const name = shared ?? part;
      const at = now();
      const trouble = troubles.get(name) ?? newTrouble(shared ?? text);
      troubles.set(name, trouble);
      leave(
        part,
        [...troubles.values()].filter((one) => one !== trouble),
      );
      if (trouble.parts.size === 0) trouble.since = at;
      trouble.parts.add(part);
      trouble.failures += 1;
      if (at - trouble.toldAt < (trouble.isTold ? everyMs : againMs)) return;
      const soFar = trouble.failures > 1 ? lasted(trouble, at) : {};
      log.error({ job: part, outage: outageIn(error), ...fields, ...soFar }, trouble.text);
      Object.assign(trouble, { toldAt: at, isTold: true });
    },
    works: (part) => leave(part, troubles.values()),
  };
}

const newTrouble = (text: string): Trouble => ({
  text,
  parts: new Set(),
  failures: 0,
  since: 0,
  toldAt: Number.NEGATIVE_INFINITY,
  isTold: false,
});

const lasted = ({ failures, since }: Trouble, at: number) => ({ failures, lasted_ms: Math.round(at - since) });
