import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';

const launcher = new URL('../../bin/svc-agent', import.meta.url).pathname;
const directory = mkdtempSync(join(tmpdir(), 'svc-agent-kill-'));
const file = join(directory, 'agent.toml');
let database: TestDatabase;
let gateway: FakeGateway;
let target: pg.Client;

beforeAll(async () => {
  database = await createEmptyDatabase();
  gateway = await startFakeGateway();
  target = new pg.Client({ connectionString: database.url });
  await target.connect();
  await target.query('create table counters (id int primary key, n int); insert into counters values (1, 0)');
  writeFileSync(
    file,
    `poll_interval_ms = 20\n[server]\nurl = "${gateway.url}"\nagent_token = "svc_test"\n[probes]\ndir = "."\n[databases.shop.staging]\nurl = "${database.url}"\n`,
  );
});

afterAll(async () => {
  await gateway.close();
  await target.end();
  await database.drop();
  rmSync(directory, { recursive: true, force: true });
});

function startProcess(): ChildProcess {
  return spawn(process.execPath, [launcher, '--config', file], { stdio: 'ignore' });
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exited = once(child, 'exit');
  child.kill(signal);
  return (await exited)[0];
}

describe('an agent that is killed', () => {
  it('never applies a change twice or half, at any point of a run (AP-I3, AP-I4)', async () => {
    const detail = 'update counters set n = n + 1 where id = 1; select pg_sleep(0.03)';
    for (const [round, delayMs] of [0, 10, 35, 45, 60].entries()) {
      const first = startProcess();
      const lost = gateway.offer({ operation: 'execute_dml', detail });
      await lost.claimed;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await end(first, 'SIGKILL');
      const second = startProcess();
      const input = { operation: 'execute_dml', detail, requestId: lost.requestId, fence: 2, unresolvedFences: [1] };
      const result = await gateway.offer(input).result;
      expect(result.success).toBe(true);
      expect((await target.query('select n from counters')).rows).toEqual([{ n: round + 1 }]);
      const done = await target.query("select fence::int from svc_execution_marker where request_id = $1 and state = 'done'", [
        lost.requestId,
      ]);
      expect(done.rows).toEqual([{ fence: result.outcome === 'already_applied' ? 1 : 2 }]);
      expect(await end(second, 'SIGTERM')).toBe(0);
    }
  }, 60_000);
});
