import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../lib/sleep.js';
import { againstFloor } from './against-floor.js';
import { auditLog } from './audit-log.js';
import { auditSealing } from './audit-sealing.js';
import { auditVerify } from './audit-verify.js';
import { authentication } from './authentication.js';
import { cancel } from './cancel.js';
import { classification } from './classification.js';
import { closedLoop } from './closed-loop.js';
import { codes } from './codes.js';
import { completion } from './completion.js';
import { consoleInbox } from './console-inbox.js';
import { consoleLoad } from './console-load.js';
import { consoleMemory } from './console-memory.js';
import { consoleScroll } from './console-scroll.js';
import { creations } from './creations.js';
import { decision } from './decision.js';
import { events } from './events.js';
import { footprint } from './footprint.js';
import { get } from './get.js';
import { growth } from './growth.js';
import { lifecycle } from './lifecycle.js';
import { lists } from './lists.js';
import { mcp } from './mcp.js';
import { preflight } from './preflight.js';
import { resultSize } from './result-size.js';
import { rows } from './rows.js';
import { slack } from './slack.js';
import { slots } from './slots.js';
import { start } from './start.js';
import { sustained } from './sustained.js';
import { type BenchOptions, type BenchSystem, startSystem } from './system.js';
import { temporalOutage } from './temporal-outage.js';
import { waiting } from './waiting.js';
import { waitingFloor } from './waiting-floor.js';
import { webhooks } from './webhooks.js';

const quietWaitMs = 30 * 60_000;

const benches: Record<string, (system: BenchSystem, options: BenchOptions) => Promise<Record<string, unknown>>> = {
  lifecycle,
  authentication,
  'against-floor': againstFloor,
  'closed-loop': closedLoop,
  decision,
  cancel,
  creations,
  get,
  lists,
  growth,
  sustained,
  start,
  waiting,
  footprint,
  'temporal-outage': temporalOutage,
  preflight,
  'result-size': resultSize,
  slots,
  rows,
  'audit-sealing': auditSealing,
  'audit-log': auditLog,
  webhooks,
  slack,
  mcp,
  events,
  'console-load': consoleLoad,
  'console-inbox': consoleInbox,
  'console-memory': consoleMemory,
  'console-scroll': consoleScroll,
};

/** These start agents of their own. */
const withOwnAgents = new Set(['slots', 'rows']);

/** Benches of code alone: they need no system. */
const alone: Record<string, (options: BenchOptions) => Promise<Record<string, unknown>>> = {
  classification,
  codes,
  completion,
  'audit-verify': auditVerify,
  'waiting-floor': waitingFloor,
};

/**
 * `node bench/run.mjs <name> [key=number ...]`: runs one bench on a system of its own and prints one JSON line. `quiet=0.7` first
 * waits until the load of the machine is below that. `profile=1` writes the CPU profile of each process and the statements of
 * PostgreSQL to a folder, which is named on stderr. `traces=1` has all processes send their spans to a collector.
 */
export async function main([name = '', ...settings]: string[]): Promise<number> {
  const bench = benches[name];
  const solo = alone[name];
  if (bench === undefined && solo === undefined) {
    const names = Object.keys({ ...benches, ...alone }).join('|');
    process.stderr.write(`usage: node bench/run.mjs ${names} [key=number ...]\n`);
    return 2;
  }
  const options: BenchOptions = Object.fromEntries(settings.map(readSetting));
  if (options.quiet) await untilQuiet(options.quiet);
  const [loadBefore = 0] = loadavg();
  const print = (measured: object) =>
    process.stdout.write(`${JSON.stringify({ bench: name, ...measured, load_before: loadBefore })}\n`);
  if (solo !== undefined) {
    print(await solo(options));
    return 0;
  }
  const profileFolder = options.profile ? mkdtempSync(join(tmpdir(), 'svc-profile-')) : null;
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  mkdirSync(join(folder, 'run'));
  const system = await startSystem(folder, {
    profileFolder,
    ownAgents: withOwnAgents.has(name),
    traces: Boolean(options.traces),
  });
  try {
    print(await bench!(system, options));
    return 0;
  } finally {
    await system.stop();
    if (profileFolder !== null) process.stderr.write(`profiles: ${profileFolder}\n`);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function untilQuiet(load: number): Promise<void> {
  const deadline = Date.now() + quietWaitMs;
  while (loadavg()[0]! >= load) {
    if (Date.now() > deadline)
      throw new Error(`the load of the machine was not below ${load} within ${quietWaitMs / 60_000} minutes`);
    await sleep(2000);
  }
}

function readSetting(text: string): [string, number] {
  const [key = '', value = ''] = text.split('=');
  const number = Number(value);
  if (value === '' || !Number.isFinite(number)) throw new Error(`${text}: a setting is key=number`);
  return [key, number];
}
