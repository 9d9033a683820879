import { expect } from 'vitest';
import { sleep } from '../../lib/sleep.js';
import { eventually } from '../support/processes.js';
import type { Held, Message } from '../support/tripwire.js';
import type { BothTargets } from './both-targets.js';
import { eventTypes, waitMs } from './looks.js';
import type { Target } from './targets.js';
import { type Played, stateOf } from './writes.js';

export type Verb = 'poll' | 'claim' | 'heartbeat' | 'result';

export const isCall = (verb: Verb) => (message: Message) =>
  message.front === 'server' && message.bytes.toString('latin1').includes(`/${verb} HTTP`);

/** A poll that asks for jobs. After its clock was wrong, an agent sends one that asks for none (ET-42). */
const asksForJobs = (message: Message) => isCall('poll')(message) && /"limit":[1-9]/.test(message.bytes.toString('latin1'));

/** Adds one, and takes this many seconds. */
export const sleeping = (target: Target, seconds: number) => {
  const nap = target.name === 'shop' ? 'pg_sleep' : 'sleep';
  const kind = target.kinds[0]!;
  return { ...kind, detail: (key: number) => `${kind.detail(key)}; select ${nap}(${seconds})` };
};

/** Longer than a poll claims what it finds (AG-80); the machine may be busy. */
const quietMs = 1000;

export type AgentCalls = ReturnType<typeof agentCalls>;

/** What becomes of the calls of the system's agent. A job is claimed by the poll that finds it at once, else by a call. */
export function agentCalls({ system, targets, wire, writes }: BothTargets) {
  const untilAll = (played: readonly Played[], status: string) => {
    const statesOf = () => Promise.all(played.map((one) => stateOf(system, one)));
    return eventually(async () => (await statesOf()).every((state) => state.status === status), waitMs).catch(
      async (error: Error) => {
        throw new Error(
          `${error.message}: ${status}, but ${JSON.stringify(await statesOf())}\n${system.agent.log().slice(-2000)}`,
        );
      },
    );
  };
  const isClaimed = async (played: readonly Played[]) =>
    (await Promise.all(played.map((one) => stateOf(system, one)))).every(({ status }) => status !== 'dispatched');
  /** A poll that has not arrived, of an agent that then sends no other one: nothing but this one claims what is created now. */
  const newPoll = async (): Promise<Held> => {
    let sent = wire.next(asksForJobs);
    // The agent polls again once it has claimed something.
    const before = await writes.createOn(targets[0]!, 1, sleeping(targets[0]!, 0));
    let held = (await sent)!;
    // A poll that the agent sent before it knew of the write would be given up after a time, and another one sent.
    while (!(await isClaimed(before))) {
      sent = wire.next(asksForJobs);
      held.pass();
      held = (await sent)!;
    }
    await untilAll(before, 'executed');
    return held;
  };
  return {
    untilAll,
    /** Loses this many such calls, or their answers, one after the other. */
    async lose(verb: Verb, how: 'lost' | 'unanswered', times: number): Promise<void> {
      for (let left = times; left > 0; left -= 1) {
        const held = await wire.next(isCall(verb));
        if (how === 'lost') held!.lose();
        else held!.passUnanswered();
      }
    },
    /** Loses all answers to such calls, repeated ones too, until the signal aborts; `lost` is told of each. */
    async loseAll(verb: Verb, signal: AbortSignal, lost: () => void): Promise<void> {
      for (let held = await wire.next(isCall(verb), signal); held !== null; held = await wire.next(isCall(verb), signal)) {
        held.passUnanswered();
        lost();
      }
    },
    /** Waits until the agent only waits for work, in a poll that claims no more: what is created now is claimed by calls. */
    async untilPollOnlyOffers(): Promise<null> {
      (await newPoll()).pass();
      for (let seen = -1; seen !== wire.seen.server; await sleep(quietMs)) seen = wire.seen.server ?? 0;
      return null;
    },
    /** Creates writes that wait when a poll of the agent arrives, so that it claims them; it has not arrived yet. */
    async createForPoll(create: () => Promise<Played[]>): Promise<{ poll: Held; all: Played[] }> {
      const poll = await newPoll();
      const all = await create();
      await untilAll(all, 'dispatched');
      return { poll, all };
    },
    /** Each write ran in one attempt, which was told once. */
    async expectOneRun(played: readonly Played[]): Promise<void> {
      for (const one of played) {
        expect(await stateOf(system, one)).toMatchObject({ outcome: 'committed', applied: 1 });
        const types = await eventTypes(system, one.id);
        for (const wanted of ['execution.started', 'execution.completed'])
          expect(types.filter((type) => type === wanted)).toHaveLength(1);
      }
    },
    /** How many of these were claimed by a poll. */
    async claimedByPolls(played: readonly Played[]): Promise<number> {
      const { rows } = await system.database.query<{ count: number }>(
        'select count(*)::int as count from executions where poll_instance is not null and request_id = any($1)',
        [played.map(({ id }) => id)],
      );
      return rows[0]!.count;
    },
  };
}
