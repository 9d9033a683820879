import { join } from 'node:path';
import { makeDataFolder } from '../support/memory-folder.js';
import { type OwnPostgres, openOwnPostgres } from '../support/own-postgres.js';
import { openSmallDisk, type SmallDisk } from '../support/small-disk.js';
import { openStandby, primarySettings, replicateSynchronously, type Standby } from '../support/standby.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

/** Two PostgreSQL servers on disks of their own behind one address: a primary and the standby that follows it synchronously. */
export interface ReplicatedPostgres {
  /** Address of a database, whichever server is the primary. */
  url(database: string): string;
  primary(): OwnPostgres;
  /** The disk of the primary; null where none can be made. */
  disk(): SmallDisk | null;
  /** Kills the primary, promotes the standby, and makes a new standby in the place of the dead one. */
  failOver(): Promise<void>;
  close(): Promise<void>;
}

interface Node {
  server: OwnPostgres;
  disk: SmallDisk | null;
}

/** For the data of some 10,000 requests, and the log between two checkpoints. */
const diskMegabytes = 700;
const smallLog = ['max_wal_size=96MB', 'min_wal_size=32MB'];

export async function openReplicated(environmentOf: (program: string) => NodeJS.ProcessEnv): Promise<ReplicatedPostgres> {
  const disks = [openSmallDisk(diskMegabytes), openSmallDisk(diskMegabytes)];
  const options = (n: 0 | 1) => ({
    folder: disks[n] ? join(disks[n].folder, 'server') : makeDataFolder('svc-replicated-'),
    environment: environmentOf(`postgres-${n}`),
  });
  const [forFirst, forSecond] = [options(0), options(1)];
  const first = await openOwnPostgres(forFirst);
  await first.kill();
  await first.start(...primarySettings, ...smallLog);
  let standby: Node & { server: Standby } = { server: await openStandby(first, forSecond), disk: disks[1]! };
  let primary: Node = { server: first, disk: disks[0]! };
  await replicateSynchronously(first);
  const front = await startTcpProxy(first.url('postgres'));
  return {
    url: (database) => Object.assign(new URL(first.url(database)), { port: new URL(front.url).port }).href,
    primary: () => primary.server,
    disk: () => primary.disk,
    async failOver() {
      const dead = primary;
      await dead.server.kill();
      front.cut();
      await standby.server.promote();
      primary = standby;
      front.to(primary.server.url('postgres'));
      front.heal();
      const again = dead.server === first ? forFirst : forSecond;
      standby = { server: await openStandby(primary.server, again), disk: dead.disk };
      await replicateSynchronously(primary.server);
    },
    async close() {
      await front.close();
      await Promise.all([primary.server.close(), standby.server.close()]);
      for (const disk of disks) disk?.close();
    },
  };
}
