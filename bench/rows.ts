import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import { findMariadb } from '../dev/mariadb/program.js';
import { type MariadbServer, startMariadb } from '../dev/mariadb/server.js';
import { type Caller, expectStatus } from './caller.js';
import { forgetPeak, residentKib } from './footprint-of.js';
import { awaitResult } from './requests.js';
import { hundredths } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/**
 * Reads `rows` narrow rows from PostgreSQL and from MariaDB. Measures how many the agent takes per second, and how much its peak
 * memory rises.
 */
export async function rows(system: BenchSystem, { rows: count = 1_000_000, runs = 5 }: BenchOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-mariadb-'));
  chmodSync(folder, 0o755);
  const signal = AbortSignal.timeout(10 * 60_000);
  const program = await findMariadb({ signal, report: (line) => process.stderr.write(`${line}\n`) });
  const mariadb = await startMariadb({ program, folder });
  try {
    const targets = [
      { name: 'postgresql', database: 'shop', detail: `select g % 10 as n from generate_series(1, ${count}) g` },
      { name: 'mariadb', database: 'orders', detail: `select seq % 10 as n from seq_1_to_${count}` },
    ];
    const measured: Record<string, object> = {};
    for (const { name, ...read } of targets) measured[name] = await measureReads(system, mariadb, read, { count, runs });
    return { rows: count, runs, ...measured };
  } finally {
    await mariadb.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Read {
  database: string;
  detail: string;
}

async function measureReads(
  system: BenchSystem,
  mariadb: MariadbServer,
  read: Read,
  { count, runs }: { count: number; runs: number },
) {
  const url = await prepareOrders(mariadb);
  const tables = `[limits]\nmax_rows = ${count}\n[databases.orders.staging]\nurl = "${url}"`;
  const agent = await system.startAgent('', tables);
  try {
    await run(system.alice, read, count);
    forgetPeak(agent.pid);
    const before = residentKib(agent.pid, 'VmRSS');
    const seconds: number[] = [];
    await system.measure(async () => {
      while (seconds.length < runs) seconds.push(await secondsOf(system, await run(system.alice, read, count)));
    });
    seconds.sort((a, b) => a - b);
    return {
      rows_per_second: { median: Math.round(count / seconds[Math.floor(runs / 2)]!), best: Math.round(count / seconds[0]!) },
      agent_peak_growth_mib: hundredths((residentKib(agent.pid, 'VmHWM') - before) / 1024),
    };
  } finally {
    await agent.stop();
  }
}

/** Creates the request and waits until its caller has all rows; returns its id. */
async function run(alice: Caller, { database, detail }: Read, count: number): Promise<string> {
  const { id } = await expectStatus(201, alice.call('POST', '/api/requests', { database, environment: 'staging', detail }));
  const { result_data } = await awaitResult(alice, id);
  if (result_data.rows.length !== count) throw new Error(`${result_data.rows.length} rows instead of ${count}`);
  return id;
}

/** How long the agent took, as it reports it. */
async function secondsOf({ database }: BenchSystem, id: string): Promise<number> {
  const sql = 'select duration_ms from executions where request_id = $1';
  return Number((await database.query(sql, [id])).rows[0].duration_ms) / 1000;
}

async function prepareOrders(mariadb: MariadbServer): Promise<string> {
  const connection = await mysql.createConnection({ uri: mariadb.url() });
  await connection.query('create database if not exists orders');
  await connection.end();
  return mariadb.url('orders');
}
