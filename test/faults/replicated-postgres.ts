import { join } from 'node:path';
import { makeDataFolder } from '../support/memory-folder.js';
import { type OwnPostgres, type OwnPostgresOptions, openOwnPostgres } from '../support/own-postgres.js';
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
  /** The logs of both. */
  logFiles(): string[];
  /** Kills the primary, promotes the standby, and makes a new standby in the place of the dead one. */
  failOver(): Promise<void>;
  close(): Promise<void>;
}

interface Node {
  server: OwnPostgres;
  place: { disk: SmallDisk | null; options: Required<OwnPostgresOptions> };
}

/** For the data of some 10,000 requests, and the log between two checkpoints. */
const diskMegabytes = 700;
const smallLog = ['max_wal_size=96MB', 'min_wal_size=32MB'];

export async function openReplicated(environmentOf: (program: string) => NodeJS.ProcessEnv): Promise<ReplicatedPostgres> {
  const [here, there] = [0, 1].map((n) => {
    const disk = openSmallDisk(diskMegabytes);
    const folder = disk === null ? makeDataFolder('svc-replicated-') : join(disk.folder, 'server');
    return { disk, options: { folder, environment: environmentOf(`postgres-${n}`) } };
  }) as [Node['place'], Node['place']];
  const first = await openOwnPostgres(here.options);
  await first.kill();
  await first.start(...primarySettings, ...smallLog);
  let primary: Node = { server: first, place: here };
  let standby: Node & { server: Standby } = { server: await openStandby(first, there.options), place: there };
  await replicateSynchronously(first);
  const front = await startTcpProxy(first.url('postgres'));
  return {
    url: (database) => Object.assign(new URL(first.url(database)), { port: new URL(front.url).port }).href,
    primary: () => primary.server,
    disk: () => primary.place.disk,
    logFiles: () => [here, there].map(({ options: { folder } }) => join(folder, 'postgres.log')),
    async failOver() {
      const { server: dead, place } = primary;
      await dead.kill();
      front.cut();
      await standby.server.promote();
      primary = standby;
      front.to(primary.server.url('postgres'));
      front.heal();
      standby = { server: await openStandby(primary.server, place.options), place };
      await replicateSynchronously(primary.server);
    },
    async close() {
      await front.close();
      await Promise.all([primary.server.close(), standby.server.close()]);
      for (const { disk } of [here, there]) disk?.close();
    },
  };
}
