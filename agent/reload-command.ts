import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { waitUntil } from '../lib/deadline.js';
import type { Variables } from '../lib/expansion.js';
import { readProbesDir } from './config.js';
import { type ReloadRecord, readPid, readReloadRecord } from './reload-record.js';

/** A reload begins at most 5 s after it is asked for, and gives each new database 15 s twice. */
const answerWithinMs = 45_000;
const lookEveryMs = 50;

interface Say {
  out(line: string): void;
  err(line: string): void;
}

/**
 * `svc-agent --reload`: signals the agent of this agent.toml and reports how its reload ended. Resolves with the exit code, which is 0 when the
 * file's databases are in service (AP-19).
 */
export async function runReload(file: string, variables: Variables, say: Say, withinMs = answerWithinMs): Promise<number> {
  const fail = (line: string) => {
    say.err(`svc-agent: ${line}`);
    return 1;
  };
  const read = readProbesDir(file, variables);
  if ('problem' in read) return fail(read.problem);
  const { directory, hasVariables } = read;
  const pid = readPid(directory);
  if (pid === null || !isAgent(pid)) return fail(`${file}: no agent runs with the probes.dir ${directory}`);
  const askedAt = Date.now();
  try {
    process.kill(pid, 'SIGHUP');
  } catch (error) {
    return fail(`process ${pid} cannot be signalled (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
  }
  const found: ReloadRecord[] = [];
  const isOver = () => {
    const record = readReloadRecord(directory);
    if (record !== null && record.pid === pid && record.startedAt >= askedAt) found.push(record);
    return found.length > 0 || !isAgent(pid);
  };
  await waitUntil(isOver, { ms: withinMs, everyMs: lookEveryMs });
  const [record] = found;
  if (record) return tell(record, hasVariables, say);
  if (!isAgent(pid)) return fail(`process ${pid} ended before its reload did`);
  return fail(`process ${pid} did not report the result of its reload within ${withinMs / 1000} s; see its log`);
}

function tell({ pid, outcome, errors, warnings, ...databases }: ReloadRecord, hasVariables: boolean, { out, err }: Say): number {
  for (const warning of warnings) err(clean(`warning: ${warning}`));
  if (outcome === 'rejected') {
    for (const error of errors) err(clean(error));
    if (hasVariables)
      err('hint: the agent has the environment that it was started with; restart it for a new variable, or use url_file');
    err(`rejected: process ${pid} keeps its configuration`);
    return 1;
  }
  const parts = Object.entries(databases).flatMap(([what, names]) =>
    Array.isArray(names) && names.length > 0 ? [`${what} ${names.join(', ')}`] : [],
  );
  out(clean(`reloaded: ${parts.length === 0 ? 'the databases are the same' : parts.join('; ')} (process ${pid})`));
  return 0;
}

const clean = (text: string) => text.replace(/\p{Cc}/gu, ' ');

/** A number that a killed agent left behind may belong to another program by now. */
function isAgent(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return words.some((word) => basename(word) === 'svc-agent');
  } catch {
    // Only Linux shows what another process runs.
    return true;
  }
}
