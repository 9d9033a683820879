import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/processes.js';
import type { Held, Message } from '../support/tripwire.js';
import { agentCalls } from './agent-calls.js';
import { type BothTargets, startBothTargets } from './both-targets.js';
import { endSilentLeases, eventTypes, waitMs } from './looks.js';
import { openTransactions, type Target } from './targets.js';
import { type Played, stateOf } from './writes.js';

let both: BothTargets;
beforeAll(async () => {
  both = await startBothTargets({ testFile: import.meta.url, keys: 50, agentHead: 'fence_wait_secs = 1' });
}, 240_000);
afterEach(() => both.endOthers());
afterAll(() => both?.close());

const text = ({ bytes }: Message) => bytes.toString('latin1');
const isCommit = (message: Message) => /commit(\0|$)/i.test(text(message));
const isLock = (message: Message) => /pg_try_advisory_lock|get_lock/.test(text(message));

interface Frozen extends Played {
  held: Held;
}

/** Creates a write on each target and freezes their agent when it has sent such a message, which has not arrived; then both runs are lost. */
async function freezeAt(wanted: (message: Message) => boolean): Promise<Frozen[]> {
  const { system, targets, wire, writes } = both;
  const frozen = await Promise.all(
    targets.map(async (target) => {
      const held = wire.next((message) => message.front === target.name && wanted(message));
      const [played] = await writes.createOn(target, 1, target.kinds[2]);
      return { ...played!, held: (await held)! };
    }),
  );
  system.agent.signal('SIGSTOP');
  await eventually(async () => {
    await endSilentLeases(system, 0);
    return (await statusesOf(frozen)).every((status) => status === 'execution_lost');
  }, waitMs);
  return frozen;
}

const statusesOf = (played: readonly Played[]) => Promise.all(played.map(({ id }) => both.calls.statusOf(id)));
const statesOf = (played: readonly Played[]) => Promise.all(played.map((one) => stateOf(both.system, one)));

/** Resumes the agent, and delivers what it had sent. */
function wake(frozen: readonly Frozen[]): void {
  for (const { held } of frozen) held.pass();
  both.system.agent.signal('SIGCONT');
}

/** Waits until the woken agent has told how its attempt ended. */
const untilToldLate = (frozen: readonly Played[]) =>
  eventually(async () => {
    const all = await Promise.all(frozen.map(({ id }) => eventTypes(both.system, id)));
    return all.every((types) => types.includes('execution.late_result'));
  }, waitMs);

/** Resumes until each is executed; its change is there once. */
async function expectOnce(played: readonly Played[]): Promise<void> {
  await Promise.all(played.map(({ id }) => both.calls.untilExecuted(id)));
  for (const state of await statesOf(played)) expect(state).toMatchObject({ status: 'executed', applied: 1 });
  for (const { target, id } of played) {
    const done = `select fence from ${target.markers} where state = 'done' and request_id = '${id}'`;
    expect(await target.rows(done)).toHaveLength(1);
  }
}

describe('a write whose agent is frozen past the end of its lease', () => {
  it('AG-I3, AP-53: before its COMMIT, is not doubled by the next attempt, nor by the COMMIT that comes late', async () => {
    const frozen = await freezeAt(isCommit);
    await both.startOther({ head: 'fence_wait_secs = 1' });
    await both.writes.resume(frozen);
    await eventually(async () => (await statusesOf(frozen)).every((status) => status === 'execution_lost'), waitMs);
    // The old transaction is open and holds the lock: nobody can know yet what becomes of it.
    for (const state of await statesOf(frozen)) expect(state).toMatchObject({ outcome: 'unknown', applied: 0 });
    wake(frozen);
    await untilToldLate(frozen);
    await expectOnce(frozen);
  }, 180_000);

  it('AG-I3, AP-37: and of its session, is done by the next attempt; the late COMMIT does nothing', async () => {
    const frozen = await freezeAt(isCommit);
    for (const target of both.targets) await endSessions(target);
    await both.startOther();
    await expectOnce(frozen);
    wake(frozen);
    await untilToldLate(frozen);
    await expectOnce(frozen);
  }, 180_000);

  it('AP-54: before it asked for the lock, is done by the next attempt, and the late one finds itself superseded', async () => {
    const frozen = await freezeAt(isLock);
    await both.startOther();
    await expectOnce(frozen);
    wake(frozen);
    await untilToldLate(frozen);
    await expectOnce(frozen);
  }, 180_000);
});

describe('an agent that is frozen while its poll waits', () => {
  it('AG-80: takes nothing: another one runs each of the writes, in its first attempt', async () => {
    const { startOther, system, writes } = both;
    await agentCalls(both).untilPollOnlyOffers();
    system.agent.signal('SIGSTOP');
    await startOther();
    const all = await writes.create(6);
    await eventually(async () => !(await writes.areOpen(all)), waitMs);
    system.agent.signal('SIGCONT');
    for (const state of await statesOf(all)) expect(state).toMatchObject({ status: 'executed', applied: state.changes });
    for (const { id } of all) {
      const started = (await eventTypes(system, id)).filter((type) => type === 'execution.started');
      expect(started).toHaveLength(1);
    }
  }, 180_000);
});

describe('two agents with one token', () => {
  it('AG-I1, AG-I3: run each of many writes once', async () => {
    const { startOther, writes } = both;
    await startOther();
    const all = await writes.create(12);
    await writes.settle(all);
    const states = await statesOf(all);
    expect(states.filter(({ status, applied, changes }) => status !== 'executed' || applied !== changes)).toEqual([]);
  }, 180_000);
});

/** Ends the sessions of agents that are in a transaction, as a database's own limit on idle ones does. */
async function endSessions(target: Target): Promise<void> {
  if (target.name === 'shop') {
    const sql = 'select pg_terminate_backend(pid) from pg_stat_activity';
    await target.rows(`${sql} where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`);
  } else {
    for (const { id } of await target.rows(openTransactions)) await target.rows(`kill ${id}`);
  }
  await eventually(async () => (await target.held()) === 0, waitMs);
}
