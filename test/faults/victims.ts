import { setTimeout as sleep } from 'node:timers/promises';
import type { MariadbServer } from '../../dev/mariadb/server.js';
import type { openOwnPostgres } from '../support/own-postgres.js';
import { eventually } from '../support/processes.js';
import type { System } from '../support/system.js';
import type { Tripwire } from '../support/tripwire.js';
import { endSilentLeases, waitMs } from './looks.js';
import { type Played, silentSecs } from './writes.js';

type Postgres = Awaited<ReturnType<typeof openOwnPostgres>>;

/** Something that is killed, at a message that comes through one of `fronts`. */
interface Victim {
  name: string;
  fronts: readonly string[];
  kill(): Promise<void>;
  start(): Promise<void>;
}

export type Faults = ReturnType<typeof createFaults>;

/** Kills one process after the other while writes are under way, each time at another message, and brings it back. */
export function createFaults(
  system: System,
  wire: Tripwire,
  servers: { gatewayPostgres: Postgres; targetPostgres: Postgres; mariadb: MariadbServer | null },
) {
  const victims = inTurn(system, servers);
  let calm: Record<string, number> = {};
  let turn = 0;
  /** Where the victim of this turn dies: the share is spread evenly over the turns, however many there are. */
  const pointOf = ({ fronts }: Victim) => {
    const messages = fronts.reduce((sum, front) => sum + (calm[front] ?? 0), 0);
    return 1 + Math.floor(messages * ((turn * 0.618_034) % 1));
  };
  return {
    /** Counts the messages of a round in which nobody dies. */
    async measure(play: () => Promise<readonly Played[]>): Promise<readonly Played[]> {
      const before = { ...wire.seen };
      const played = await play();
      await untilEnded(system, played, new AbortController().signal);
      calm = Object.fromEntries(Object.entries(wire.seen).map(([front, count]) => [front, count - (before[front] ?? 0)]));
      return played;
    },
    /** Plays with one kill. */
    async around(play: () => Promise<readonly Played[]>): Promise<readonly Played[]> {
      const victim = victims[turn % victims.length]!;
      const at = pointOf(victim);
      turn += 1;
      let count = 0;
      const over = new AbortController();
      const held = wire.next(({ front }) => victim.fronts.includes(front) && ++count >= at, over.signal);
      const killed = held.then(async (message) => {
        if (message === null) return;
        // Victims come in pairs: each of them meets both ways to die.
        const early = Math.floor(turn / 2) % 2 === 0;
        await (victim.name === 'agent' ? killSender(victim, message, early) : killReceiver(victim, message, early));
        await victim.start();
      });
      const played = await play();
      await Promise.race([killed, untilEnded(system, played, over.signal)]);
      over.abort();
      await killed;
      return played;
    },
  };
}

type Held = NonNullable<Awaited<ReturnType<Tripwire['next']>>>;

/** Dies before it has sent the message, or with its answer unread. */
async function killSender(victim: Victim, message: Held, early: boolean): Promise<void> {
  await victim.kill();
  if (early) message.lose();
  else message.pass();
}

/** Dies before the message arrives, or while it works on it. */
async function killReceiver(victim: Victim, message: Held, early: boolean): Promise<void> {
  if (early) {
    await victim.kill();
    return message.lose();
  }
  message.pass();
  await sleep(Math.random() * 5);
  await victim.kill();
}

/** The agent every other time, because most awaits are in it. */
function inTurn(
  system: System,
  {
    gatewayPostgres,
    targetPostgres,
    mariadb,
  }: { gatewayPostgres: Postgres; targetPostgres: Postgres; mariadb: MariadbServer | null },
): Victim[] {
  const victim = (name: string, one: Pick<System['agent'], 'kill' | 'start'>, fronts: string[]): Victim => ({
    name,
    fronts,
    kill: () => one.kill(),
    start: () => one.start(),
  });
  const agent = victim('agent', system.agent, ['server', 'shop', 'store']);
  const others = [
    victim('server', system.servers[0]!, ['server', 'database']),
    victim('target', targetPostgres, ['shop']),
    victim('worker', system.workers[0]!, ['database']),
    victim('gateway database', gatewayPostgres, ['server', 'database']),
  ];
  if (mariadb) {
    const store = { kill: () => mariadb.child.stop('SIGKILL', 5000), start: () => mariadb.startAgain() };
    others.push(victim('store', store, ['store']));
  }
  return others.flatMap((other) => [agent, other]);
}

/** Waits until none of these is offered or runs, or the signal aborts; a migration of a dead agent would hold up the others of its pair. */
async function untilEnded(system: System, played: readonly Played[], signal: AbortSignal): Promise<void> {
  const sql = `select 1 from requests where id = any($1) and status in ('dispatched', 'running') limit 1`;
  await eventually(async () => {
    if (signal.aborted) return true;
    await endSilentLeases(system, silentSecs).catch(() => {});
    const answer = await system.database.query(sql, [played.map(({ id }) => id)]).catch(() => null);
    return answer?.rows.length === 0;
  }, waitMs);
}
