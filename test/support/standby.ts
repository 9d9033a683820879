import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clone } from '../../dev/layout.js';
import { freePort } from '../../dev/ports.js';
import { type PostgresPlace, placePostgres } from '../../dev/postgres-programs.js';
import { makeDataFolder } from './memory-folder.js';
import { asSuperuser, controlled, type OwnPostgres, type OwnPostgresOptions } from './own-postgres.js';
import { eventually } from './processes.js';

export interface Standby extends OwnPostgres {
  /** Makes it the primary; resolves when it takes writes. */
  promote(): Promise<void>;
}

/** What a primary is started with that standbys follow. */
export const primarySettings = ['wal_level=replica', 'max_wal_senders=4', 'wal_keep_size=128MB'];

/** By this name a primary knows its standby. */
const standbyName = 'standby';

/**
 * Makes a streaming standby of a running primary by a base backup, or of a stopped one (`isCold`) by a copy, and starts it.
 * pg_basebackup is not among the programs of the npm package.
 */
export async function openStandby(
  primary: OwnPostgres,
  { folder, environment = {}, isCold = false }: OwnPostgresOptions & { isCold?: boolean } = {},
): Promise<Standby> {
  const ownFolder = folder ?? makeDataFolder('svc-standby-');
  const place = placePostgres(clone, join(ownFolder, 'postgres'));
  rmSync(place.dataDir, { recursive: true, force: true });
  mkdirSync(dirname(place.dataDir), { recursive: true });
  await (isCold ? copyStopped : copyRunning)(primary, place.dataDir);
  writeAsOwner(place.dataDir, 'standby.signal', '');
  const address = new URL(primary.url('postgres'));
  const source = `host=127.0.0.1 port=${address.port} user=postgres password=test application_name=${standbyName}`;
  const settings = [...primarySettings, `primary_conninfo=${source}`, 'hot_standby=on', 'max_wal_size=96MB'];
  const standby = await startCopy(primary, { folder: ownFolder, place, environment }, settings);
  return {
    ...standby,
    async promote() {
      await asSuperuser(standby.url('postgres'), (client) => client.query('select pg_promote(true, 60)'));
    },
  };
}

/** Starts the copy of a cluster on a port of its own. */
export async function startCopy(
  original: OwnPostgres,
  { folder, place, environment = {} }: { folder: string; place: PostgresPlace; environment?: NodeJS.ProcessEnv },
  settings: readonly string[],
): Promise<OwnPostgres> {
  const port = await freePort();
  const usual = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', 'log_min_messages=warning'];
  const copied = controlled({
    folder,
    place,
    logFile: join(folder, 'postgres.log'),
    child: null,
    environment,
    args: ['-D', place.dataDir, '-p', String(port), ...[...usual, ...settings].flatMap((each) => ['-c', each])],
    url: (database) => Object.assign(new URL(original.url(database)), { port: String(port) }).href,
  });
  await copied.start();
  return copied;
}

/** From now on a commit of the primary is acknowledged when the standby has it on disk; `false` = without it, as at first. */
export async function replicateSynchronously(primary: OwnPostgres, isOn = true): Promise<void> {
  await asSuperuser(primary.url('postgres'), async (client) => {
    await client.query(`alter system set synchronous_standby_names = '${isOn ? standbyName : ''}'`);
    await client.query('select pg_reload_conf()');
    await eventually(async () => {
      const { rows } = await client.query('select 1 from pg_stat_replication where sync_state = $1', ['sync']);
      return !isOn || rows.length > 0;
    }, 30_000);
  });
}

async function copyStopped(primary: OwnPostgres, dataDir: string): Promise<void> {
  await primary.stop();
  await copy(primary.dataDir, dataDir);
  await primary.start();
}

/** A base backup by hand, without the log: the files may change while they are copied, and the log from its beginning makes them whole. */
export async function copyRunning(primary: OwnPostgres, dataDir: string): Promise<void> {
  const label = await asSuperuser(primary.url('postgres'), async (client) => {
    await client.query(`select pg_backup_start('standby', true)`);
    await copy(primary.dataDir, dataDir);
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    return rows[0]!.labelfile;
  });
  rmSync(join(dataDir, 'postmaster.pid'), { force: true });
  for (const name of readdirSync(join(dataDir, 'pg_wal'))) {
    if (/^[0-9A-F]{24}/.test(name)) rmSync(join(dataDir, 'pg_wal', name));
  }
  writeAsOwner(dataDir, 'backup_label', label);
}

export async function copy(from: string, to: string): Promise<void> {
  const complaints = await new Promise<string>((resolve) => {
    execFile('cp', ['-a', from, to], (_, __, stderr) => resolve(stderr));
  });
  // A running server removes files while they are copied.
  const serious = complaints.split('\n').filter((line) => line !== '' && !line.includes('No such file'));
  if (serious.length > 0) throw new Error(`copying the cluster: ${serious[0]}`);
}

function writeAsOwner(dataDir: string, name: string, text: string): void {
  const { uid, gid } = statSync(dataDir);
  writeFileSync(join(dataDir, name), text);
  chownSync(join(dataDir, name), uid, gid);
}
