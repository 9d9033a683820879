import { sleep } from '../../lib/sleep.js';
import { asSuperuser, type OwnPostgres } from '../support/own-postgres.js';
import type { Program } from '../support/program.js';
import { parts } from './network.js';
import type { Random } from './random.js';
import type { Stage } from './stage.js';

/** How long outages last that may last long, in seconds. */
export interface Lengths {
  frozen: number;
  temporalAway: number;
  /** The longest that all others may last. */
  usual: number;
}

export interface Outage {
  name: string;
  /** Why it cannot be played here. */
  missing?(stage: Stage): string | null;
  /** Begins it, waits, and ends it; answers what exactly was played. */
  play(stage: Stage, random: Random, lengths: Lengths): Promise<string>;
}

const aWhile = (random: Random, { usual }: Lengths) => sleep(random.between(500, usual * 1000));

/** Takes away some of the ways of programs to this part. */
const networkTo = (part: (typeof parts)[number]): Outage => ({
  name: `network to ${part}`,
  async play({ network }, random, lengths) {
    const ways = network.links.filter((link) => link.part === part);
    const links = random.shuffled(ways).slice(0, random.between(1, ways.length));
    const how = random.pick(['cut', 'freeze', 'strand'] as const);
    for (const { proxy } of links) proxy[how]();
    await aWhile(random, lengths);
    for (const { proxy } of links) proxy.heal();
    return `${how} from ${links.map(({ program }) => program).join(', ')}`;
  },
});

/** Fills the disk of the primary. */
const withoutSpace = (name: string, then: (server: OwnPostgres) => Promise<void>): Outage => ({
  name,
  missing: ({ postgres }) => (postgres.disk() === null ? 'no file system can be mounted here' : null),
  async play({ postgres }, random, lengths) {
    const [server, disk] = [postgres.primary(), postgres.disk()!];
    disk.fill();
    await then(server);
    await aWhile(random, lengths);
    disk.free();
    return (await server.revive()) ? 'it ended itself' : 'it lived on';
  },
});

/** Tables can no longer grow, but its log has files in reserve: goes on to the next one until there is none, which ends the server. */
async function useUpLog(server: OwnPostgres): Promise<void> {
  const next = `select pg_logical_emit_message(false, 'next', ''), pg_switch_wal()`;
  await asSuperuser(server.url('postgres'), async (client) => {
    for (let left = 50; left > 0; left -= 1) await client.query(next);
  }).catch(() => {});
}

/** What can befall the parts that the programs stand on, and the ways between them. */
export const outages: readonly Outage[] = [
  ...parts.map(networkTo),
  {
    name: 'PostgreSQL restarted',
    async play({ postgres }) {
      const server = postgres.primary();
      await server.stop();
      await server.start();
      return 'stopped in order';
    },
  },
  {
    name: 'PostgreSQL killed',
    async play({ postgres }, random, lengths) {
      const server = postgres.primary();
      await server.kill();
      await aWhile(random, lengths);
      await server.start();
      return 'kill -9 of all its processes';
    },
  },
  {
    name: 'PostgreSQL frozen',
    async play({ postgres }, _, { frozen }) {
      const server = postgres.primary();
      server.freeze();
      await sleep(frozen * 1000);
      server.thaw();
      return `SIGSTOP for ${frozen} s`;
    },
  },
  withoutSpace('PostgreSQL without space', async () => {}),
  withoutSpace('PostgreSQL without space for its log', useUpLog),
  {
    name: 'PostgreSQL failed over',
    async play({ postgres }) {
      await postgres.failOver();
      return 'primary killed, synchronous standby promoted';
    },
  },
  {
    name: 'target restarted',
    async play({ target }) {
      await target.kill();
      await target.start();
      return 'kill -9 of all its processes';
    },
  },
  {
    name: 'Temporal away',
    async play({ temporal }, _, { temporalAway }) {
      await temporal.kill();
      await sleep(temporalAway * 1000);
      await temporal.start();
      return `kill -9 for ${temporalAway} s`;
    },
  },
  {
    name: 'Temporal without its data',
    async play({ temporal }) {
      await temporal.kill();
      temporal.loseData();
      await temporal.start();
      return 'kill -9, an empty database';
    },
  },
  {
    name: 'clock step',
    missing: ({ clocks }) => (clocks === null ? 'no C compiler is here' : null),
    async play({ clocks, system }, random, lengths) {
      const programs = [...system.servers, ...system.workers, ...system.agents].map(({ name }) => name);
      const chosen = random.pick([...programs.map((name) => [name]), ['postgres-0', 'postgres-1'], programs]);
      const seconds = random.pick([60, -60]);
      for (const name of chosen) clocks!.set(name, seconds);
      await aWhile(random, lengths);
      for (const name of chosen) clocks!.set(name, 0);
      return `${seconds} s and back: ${chosen.join(', ')}`;
    },
  },
  {
    name: 'program frozen',
    async play({ system }, random, lengths) {
      const program = random.pick([...system.servers, ...system.workers, ...system.agents]);
      signalIfThere(program, 'SIGSTOP');
      await aWhile(random, lengths);
      signalIfThere(program, 'SIGCONT');
      return program.name;
    },
  },
];

/** It may have been killed meanwhile. */
function signalIfThere(program: Program, name: NodeJS.Signals): void {
  try {
    program.signal(name);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ESRCH') throw error;
  }
}

/** Kills one of the gateway's own programs with -9 and starts it again, as a supervisor does. */
export async function killOne({ system }: Stage, random: Random): Promise<string> {
  const program = random.pick([...system.servers, ...system.workers, ...system.agents]);
  await program.kill();
  await sleep(random.between(0, 1500));
  await bringBack(program);
  return program.name;
}

const maxStarts = 20;

/** A start that finds no database gives up after a minute (OP-50); a supervisor tries again. */
export async function bringBack(program: Program): Promise<void> {
  for (let left = maxStarts; ; left -= 1) {
    try {
      return await program.start();
    } catch (error) {
      if (left === 0) throw error;
      await program.kill();
    }
  }
}
