import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/processes.js';
import { type AgentCalls, agentCalls, isCall, sleeping } from './agent-calls.js';
import { type BothTargets, startBothTargets } from './both-targets.js';
import { endSilentLeases, waitMs } from './looks.js';
import { type Played, stateOf } from './writes.js';

const folder = mkdtempSync(join(tmpdir(), 'svc-clock-'));
const clockFile = join(folder, 'difference');
/** How far the agent's clock is ahead of the machine's. */
const setClock = (minutes: number) => writeFileSync(clockFile, String(minutes * 60_000));

let both: BothTargets;
let calls: AgentCalls;
beforeAll(async () => {
  setClock(0);
  const clock = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url));
  const withClock = { NODE_OPTIONS: `--import=${clock}`, SVC_TEST_CLOCK_FILE: clockFile };
  const environmentOf = (program: string) => (program === 'agent-0' ? withClock : {});
  both = await startBothTargets({ testFile: import.meta.url, keys: 60, environmentOf });
  calls = agentCalls(both);
}, 240_000);
afterAll(async () => {
  await both?.close();
  rmSync(folder, { recursive: true, force: true });
});

const statesOf = (played: readonly Played[]) => Promise.all(played.map((one) => stateOf(both.system, one)));
/** Creates a write on each target at once that takes this many seconds. */
const createOnEach = async (seconds = 0): Promise<Played[]> => {
  const { targets, writes } = both;
  return (await Promise.all(targets.map((target) => writes.createOn(target, 1, sleeping(target, seconds))))).flat();
};

describe('a network that loses calls and answers of the agent', () => {
  it('AG-50, AP-08, AP-81, AG-I6: a write runs once and its result is told once', async () => {
    await calls.untilPollOnlyOffers();
    const faults = [
      calls.lose('claim', 'unanswered', 2).then(() => calls.lose('claim', 'lost', 1)),
      calls.lose('heartbeat', 'lost', 1).then(() => calls.lose('heartbeat', 'unanswered', 1)),
      calls.lose('result', 'unanswered', 1).then(() => calls.lose('result', 'lost', 1)),
    ];
    const all = await createOnEach(2.5);
    await calls.untilAll(all, 'executed');
    await Promise.all(faults);
    await calls.expectOneRun(all);
  }, 180_000);

  it('AG-81, AG-50, AG-I6: a write that a poll claimed, too', async () => {
    for (let claimed = 0; claimed === 0; ) {
      const { poll, all } = await calls.createForPoll(() => createOnEach(2.5));
      poll.passUnanswered();
      const faults = [
        calls.lose('poll', 'unanswered', 1).then(() => calls.lose('poll', 'lost', 1)),
        calls.lose('heartbeat', 'lost', 1).then(() => calls.lose('heartbeat', 'unanswered', 1)),
        calls.lose('result', 'unanswered', 1).then(() => calls.lose('result', 'lost', 1)),
      ];
      await calls.untilAll(all, 'executed');
      await Promise.all(faults);
      await calls.expectOneRun(all);
      claimed = await calls.claimedByPolls(all);
    }
  }, 180_000);

  it.each([
    { who: 'AP-08, AG-53: calls', byPoll: false },
    { who: 'AG-81, AG-53: polls', byPoll: true },
  ])(
    '$who: a write whose claims are never answered is lost with nothing written, and once resumed it runs once',
    async ({ byPoll }) => {
      const { system, targets, writes } = both;
      for (const target of targets) {
        const create = () => writes.createOn(target, 1, sleeping(target, 0));
        const begun = byPoll ? await calls.createForPoll(create) : await calls.untilPollOnlyOffers();
        let unanswered = 0;
        const over = new AbortController();
        const verbs = byPoll ? (['poll', 'claim'] as const) : (['claim'] as const);
        const faults = verbs.map((verb) => calls.loseAll(verb, over.signal, () => (unanswered += 1)));
        begun?.poll.passUnanswered();
        const all = begun?.all ?? (await create());
        await eventually(() => unanswered >= 4, waitMs);
        await eventually(async () => {
          await endSilentLeases(system, 0);
          return (await statesOf(all)).every(({ status }) => status === 'execution_lost');
        }, waitMs);
        over.abort();
        await Promise.all(faults);
        expect(await statesOf(all)).toMatchObject([{ applied: 0 }]);
        await both.calls.untilExecuted(all[0]!.id);
        expect(await statesOf(all)).toMatchObject([{ status: 'executed', applied: 1 }]);
      }
    },
    180_000,
  );
});

describe('an agent whose clock is wrong', () => {
  const timesTold = () => both.system.agent.log().split('clock differs from the server').length;

  it.each([5, -5])(
    'ET-42, AP-83: by %i minutes takes no job, and takes it when its clock is right again',
    async (minutes) => {
      const { wire } = both;
      const told = timesTold();
      setClock(minutes);
      await eventually(() => timesTold() > told, waitMs);
      const all = await createOnEach();
      const seen = wire.seen.server ?? 0;
      await eventually(() => (wire.seen.server ?? 0) > seen + 1, waitMs);
      for (const state of await statesOf(all)) expect(state).toMatchObject({ status: 'dispatched', applied: 0 });
      setClock(0);
      await calls.untilAll(all, 'executed');
      for (const state of await statesOf(all)) expect(state).toMatchObject({ applied: 1 });
    },
    180_000,
  );

  const jumps = [
    { minutes: 20, why: 'token expired' },
    { minutes: -20, why: 'token not yet valid' },
  ];
  const expectNotStarted = async (all: readonly Played[], why: string) => {
    const { system } = both;
    for (const state of await statesOf(all)) expect(state).toMatchObject({ outcome: 'not_started', applied: 0 });
    const { body } = await both.calls.call(system.tokens.alice, 'GET', `/api/requests/${all[0]!.id}/executions`);
    expect(JSON.stringify(body)).toContain(why);
  };

  it.each(jumps)(
    'ET-33: that jumps by $minutes minutes between poll and claim runs nothing: $why',
    async ({ minutes, why }) => {
      const { targets, wire, writes } = both;
      await calls.untilPollOnlyOffers();
      const claim = wire.next(isCall('claim'));
      const all = await writes.createOn(targets[0]!, 1);
      const held = await claim;
      setClock(minutes);
      held!.pass();
      await calls.untilAll(all, 'failed');
      setClock(0);
      await expectNotStarted(all, why);
    },
    180_000,
  );

  it.each(jumps)(
    'ET-33: that jumps by $minutes minutes while its poll claims runs nothing: $why',
    async ({ minutes, why }) => {
      const { targets, writes } = both;
      for (let claimed = 0; claimed === 0; ) {
        const { poll, all } = await calls.createForPoll(() => writes.createOn(targets[0]!, 1));
        const told = timesTold();
        setClock(minutes);
        poll.pass();
        await eventually(() => timesTold() > told, waitMs);
        setClock(0);
        claimed = await calls.claimedByPolls(all);
        await calls.untilAll(all, claimed === 0 ? 'executed' : 'failed');
        if (claimed > 0) await expectNotStarted(all, why);
      }
    },
    180_000,
  );
});
