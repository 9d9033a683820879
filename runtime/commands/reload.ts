import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readStateDir } from '../../config/state-dir.js';
import { waitUntil } from '../../lib/deadline.js';
import { fileFault } from '../../lib/file-fault.js';
import { readIfThere } from '../private-files.js';
import { type ReloadRecord, readReloadRecord } from '../reload-record.js';
import { type Say, sayAll, standardStreams } from './say.js';

/** A reload begins at most 5 s after it is requested (CF-40), and then needs a few seconds of database work. */
const answerWithinMs = 30_000;
const lookEveryMs = 100;

export interface ReloadCommandOptions {
  config: string;
  /** How long the server may take; default 30 s. */
  withinMs?: number;
}

/**
 * `svc server reload` (OP-52): signals the server of this `server.toml` and reports how its reload ended. The exit code is 0 if the file is
 * in force, otherwise 1.
 */
export async function runReload(options: ReloadCommandOptions, say: Say = standardStreams): Promise<number> {
  const { config: file, withinMs = answerWithinMs } = options;
  const read = readStateDir(file, process.env);
  if ('problem' in read) return sayAll(say, [read.problem]);
  const stateDir = resolve(dirname(resolve(file)), read.stateDir);
  const pid = await serverOf(stateDir);
  if (typeof pid === 'string') return sayAll(say, [pid]);
  const askedAt = Date.now();
  process.kill(pid, 'SIGHUP');
  const record = await nextRecord(stateDir, pid, askedAt, withinMs);
  if (record === null)
    return sayAll(say, [
      `${file}: process ${pid} did not report the result of the reload within ${withinMs / 1000} s; see its log`,
    ]);
  return tell(record, say);
}

function tell({ pid, outcome, generation, errors, warnings }: ReloadRecord, { out, err, data }: Say): number {
  for (const warning of warnings) err(`warning: ${warning}`);
  if (outcome === 'rejected') {
    errors.forEach(err);
    err(`rejected: process ${pid} keeps its configuration, generation ${generation}`);
    return 1;
  }
  data?.({ outcome, generation, pid });
  const what = outcome === 'applied' ? `generation ${generation} is in force` : `generation ${generation} stays in force`;
  out(`reloaded: ${what} (process ${pid})`);
  return 0;
}

/** The process in `server.pid`, or why there is none to signal. A number left by a killed server may belong to another program by now. */
async function serverOf(stateDir: string): Promise<number | string> {
  const path = join(stateDir, 'server.pid');
  let pid: number;
  try {
    pid = Number(await readIfThere(path));
  } catch (error) {
    return `${path}: cannot be read (${fileFault(error)}); run this as the user of the server`;
  }
  if (!Number.isInteger(pid) || pid <= 0) return `${path}: no server runs with this state_dir`;
  const isServer = await runsServer(pid);
  return isServer ? pid : `${path}: process ${pid} is gone: no server runs with this state_dir`;
}

async function runsServer(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // Only Linux shows what another process runs.
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null);
  return commandLine === null || commandLine.split('\0').includes('server');
}

async function nextRecord(stateDir: string, pid: number, after: number, withinMs: number): Promise<ReloadRecord | null> {
  let found: ReloadRecord | null = null;
  const isOver = async () => {
    const record = await readReloadRecord(stateDir);
    if (record !== null && record.pid === pid && record.startedAt >= after) found = record;
    return found !== null || !(await runsServer(pid));
  };
  await waitUntil(isOver, { ms: withinMs, everyMs: lookEveryMs });
  return found;
}
