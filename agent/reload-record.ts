import { join } from 'node:path';
import { z } from 'zod';
import { readOwn, removeOwn, replaceOwn } from './probe-files.js';

const names = z.array(z.string());

const reloadRecord = z.object({
  pid: z.int(),
  /** When reading the file began, in milliseconds since the epoch. */
  startedAt: z.number(),
  outcome: z.enum(['applied', 'unchanged', 'rejected']),
  errors: z.array(z.string()),
  warnings: z.array(z.string()),
  /** Databases as `<name>/<env>`. */
  added: names,
  changed: names,
  removed: names,
});

/** How an agent's newest reload ended; `svc-agent --reload` waits for it. Contains no address and no credential (AP-03). */
export type ReloadRecord = z.infer<typeof reloadRecord>;

/** What the folder of the probe files tells `svc-agent --reload`. */
const pathsIn = (directory: string) => ({
  pid: join(directory, 'svc-agent.pid'),
  record: join(directory, 'svc-agent-reload.json'),
});

export function writePid(directory: string): void {
  const { pid, record } = pathsIn(directory);
  // That of a killed process.
  removeOwn(record);
  replaceOwn(pid, String(process.pid));
}

export function writeReloadRecord(directory: string, record: ReloadRecord): void {
  replaceOwn(pathsIn(directory).record, JSON.stringify(record));
}

export function removeReloadFiles(directory: string): void {
  for (const path of Object.values(pathsIn(directory))) removeOwn(path);
}

/** The process that wrote its number there, which may be gone; null without one. */
export function readPid(directory: string): number | null {
  const pid = Number(readOwn(pathsIn(directory).pid));
  return Number.isInteger(pid) && pid > 0 ? pid : null;
}

/** Null if there was no reload. */
export function readReloadRecord(directory: string): ReloadRecord | null {
  const text = readOwn(pathsIn(directory).record);
  return text === null ? null : reloadRecord.parse(JSON.parse(text));
}
