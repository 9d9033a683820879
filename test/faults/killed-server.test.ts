import { afterAll, beforeAll, describe, it } from 'vitest';
import { sleep } from '../../lib/sleep.js';
import { type AgentCalls, agentCalls, isCall, sleeping } from './agent-calls.js';
import { type BothTargets, startBothTargets } from './both-targets.js';
import type { Played } from './writes.js';

/** With its start, the server is away for less than 30 s; the lease is 60 s. */
const awayMs = 24_000;

let both: BothTargets;
let calls: AgentCalls;
beforeAll(async () => {
  both = await startBothTargets({ testFile: import.meta.url, keys: 20 });
  calls = agentCalls(both);
}, 240_000);
afterAll(() => both?.close());

const create = (seconds = 0): Promise<Played[]> => {
  const target = both.targets[0]!;
  return both.writes.createOn(target, 1, sleeping(target, seconds));
};

/** Each answers writes of which the server has acknowledged something that it cannot tell any more. */
const untilAcknowledged: Record<string, () => Promise<Played[]>> = {
  'a run that ends meanwhile, and a claim': async () => {
    const runs = await create(15);
    await calls.untilAll(runs, 'running');
    await calls.untilPollOnlyOffers();
    const claim = both.wire.next(isCall('claim'));
    const claimed = await create();
    (await claim)!.passUnanswered();
    await calls.untilAll(claimed, 'running');
    return [...runs, ...claimed];
  },
  'the claim of a poll': async () => {
    for (;;) {
      const { poll, all } = await calls.createForPoll(create);
      poll.passUnanswered();
      await calls.untilAll(all, 'running');
      if ((await calls.claimedByPolls(all)) > 0) return all;
      await calls.untilAll(all, 'executed');
    }
  },
};

describe('a server that is killed and back within 30 s', () => {
  it.each(Object.keys(untilAcknowledged))(
    'has lost nothing: %s (AG-50, AG-81, AP-08)',
    async (what) => {
      const [server] = both.system.servers;
      const all = await untilAcknowledged[what]!();
      await server!.kill();
      await sleep(awayMs);
      await server!.start();
      await calls.untilAll(all, 'executed');
      await calls.expectOneRun(all);
    },
    240_000,
  );
});
