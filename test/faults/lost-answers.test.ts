import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/processes.js';
import type { Message } from '../support/tripwire.js';
import { type BothTargets, startBothTargets } from './both-targets.js';
import { endSilentLeases, eventTypes, waitMs } from './looks.js';
import type { Target } from './targets.js';
import { type Played, stateOf } from './writes.js';

const folder = mkdtempSync(join(tmpdir(), 'svc-clock-'));
const clockFile = join(folder, 'difference');
/** How far the agent's clock is ahead of the machine's. */
const setClock = (minutes: number) => writeFileSync(clockFile, String(minutes * 60_000));

let both: BothTargets;
beforeAll(async () => {
  setClock(0);
  const clock = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url));
  const agentEnvironment = { NODE_OPTIONS: `--import=${clock}`, SVC_TEST_CLOCK_FILE: clockFile };
  both = await startBothTargets({ testFile: import.meta.url, keys: 20, agentEnvironment });
}, 240_000);
afterAll(async () => {
  await both?.close();
  rmSync(folder, { recursive: true, force: true });
});

const statesOf = (played: readonly Played[]) => Promise.all(played.map((one) => stateOf(both.system, one)));
const untilAll = (played: readonly Played[], status: string) =>
  eventually(async () => (await statesOf(played)).every((state) => state.status === status), waitMs);

/** Adds one, and takes so many seconds. */
const sleeping = (target: Target, seconds: number) => {
  const nap = target.name === 'shop' ? 'pg_sleep' : 'sleep';
  const kind = target.kinds[0]!;
  return { ...kind, detail: (key: number) => `${kind.detail(key)}; select ${nap}(${seconds})` };
};

/** A write on each target at once. */
const createOnEach = async (seconds = 0): Promise<Played[]> => {
  const { targets, writes } = both;
  return (await Promise.all(targets.map((target) => writes.createOn(target, 1, sleeping(target, seconds))))).flat();
};

const isCall = (verb: string) => (message: Message) =>
  message.front === 'server' && message.bytes.toString('latin1').includes(`/${verb} HTTP`);

/** Loses so many such calls of the agent one after the other, or the answers to them. */
async function lose(verb: 'claim' | 'heartbeat' | 'result', how: 'lost' | 'unanswered', times: number): Promise<void> {
  for (let left = times; left > 0; left -= 1) {
    const held = await both.wire.next(isCall(verb));
    if (how === 'lost') held!.lose();
    else held!.passUnanswered();
  }
}

/** Loses all answers to such calls, repeated ones too, until the signal aborts. */
async function loseAll(verb: 'claim', signal: AbortSignal): Promise<void> {
  for (let held = await both.wire.next(isCall(verb), signal); held !== null; held = await both.wire.next(isCall(verb), signal))
    held.passUnanswered();
}

describe('a network that loses calls and answers of the agent', () => {
  it('AG-50, AP-08, AP-81, AG-I6: a write runs once and its result is told once', async () => {
    const faults = [
      lose('claim', 'unanswered', 2).then(() => lose('claim', 'lost', 1)),
      lose('heartbeat', 'lost', 1).then(() => lose('heartbeat', 'unanswered', 1)),
      lose('result', 'unanswered', 1).then(() => lose('result', 'lost', 1)),
    ];
    const all = await createOnEach(2.5);
    await untilAll(all, 'executed');
    await Promise.all(faults);
    for (const [index, state] of (await statesOf(all)).entries()) {
      expect(state).toMatchObject({ outcome: 'committed', applied: 1 });
      const completed = (await eventTypes(both.system, all[index]!.id)).filter((type) => type === 'execution.completed');
      expect(completed).toHaveLength(1);
    }
  }, 180_000);

  it('AP-08, AG-53: a write whose claims are never answered is lost with nothing written, and once resumed it runs once', async () => {
    const { calls, system, targets, writes } = both;
    const unanswered = () => system.agent.log().split('claim not answered').length;
    for (const target of targets) {
      const enough = unanswered() + 4;
      const over = new AbortController();
      const faults = loseAll('claim', over.signal);
      const all = await writes.createOn(target, 1, sleeping(target, 0));
      await eventually(() => unanswered() >= enough, waitMs);
      await eventually(async () => {
        await endSilentLeases(system, 0);
        return (await statesOf(all)).every(({ status }) => status === 'execution_lost');
      }, waitMs);
      over.abort();
      await faults;
      expect(await statesOf(all)).toMatchObject([{ applied: 0 }]);
      await calls.untilExecuted(all[0]!.id);
      expect(await statesOf(all)).toMatchObject([{ status: 'executed', applied: 1 }]);
    }
  }, 180_000);
});

describe('an agent whose clock is wrong', () => {
  it.each([5, -5])(
    'ET-42, AP-83: by %i minutes takes no job, and takes it when its clock is right again',
    async (minutes) => {
      const { system, wire } = both;
      setClock(minutes);
      await eventually(() => system.agent.log().includes('clock differs from the server'), waitMs);
      const all = await createOnEach();
      const seen = wire.seen.server ?? 0;
      await eventually(() => (wire.seen.server ?? 0) > seen + 1, waitMs);
      for (const state of await statesOf(all)) expect(state).toMatchObject({ status: 'dispatched', applied: 0 });
      setClock(0);
      await untilAll(all, 'executed');
      for (const state of await statesOf(all)) expect(state).toMatchObject({ applied: 1 });
    },
    180_000,
  );

  it.each([
    { minutes: 20, why: 'token expired' },
    { minutes: -20, why: 'token not yet valid' },
  ])(
    'ET-33: that jumps by $minutes minutes between poll and claim runs nothing: $why',
    async ({ minutes, why }) => {
      const { calls, system, targets, wire, writes } = both;
      const claim = wire.next(isCall('claim'));
      const all = await writes.createOn(targets[0]!, 1);
      const held = await claim;
      setClock(minutes);
      held!.pass();
      await untilAll(all, 'failed');
      setClock(0);
      for (const state of await statesOf(all)) expect(state).toMatchObject({ outcome: 'not_started', applied: 0 });
      const { body } = await calls.call(system.tokens.alice, 'GET', `/api/requests/${all[0]!.id}/executions`);
      expect(JSON.stringify(body)).toContain(why);
    },
    180_000,
  );
});
