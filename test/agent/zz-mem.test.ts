import { spawn } from 'node:child_process';
import { readFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { it } from 'vitest';
import { startFakeGateway } from '../support/fake-gateway.js';
import { createEmptyDatabase } from '../support/postgres.js';
it('mem', async () => {
  const database = await createEmptyDatabase();
  const gateway = await startFakeGateway();
  const dir = mkdtempSync('/tmp/mem-');
  writeFileSync(dir + '/a.toml', `poll_interval_ms = 20\n[server]\nurl = "${gateway.url}"\nagent_token = "svc_test"\n[probes]\ndir = "."\n[limits]\nmax_rows = 20000000\n[databases.shop.staging]\nurl = "${database.url}"\n`);
  const child = spawn(process.execPath, ['bin/svc-agent', '--config', dir + '/a.toml'], { stdio: 'inherit' });
  const hwm = () => /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
  await gateway.offer({ detail: 'select 1' }).result;
  console.log('base', hwm());
  for (const detail of ["select g, repeat('x', 100) t from generate_series(1, 10000000) g", "select g from generate_series(1,10000000) g", "select repeat('ä', 8000000) t from generate_series(1, 5) g", "select repeat('x', 9000000) t from generate_series(1, 5) g"]) {
    const t = performance.now();
    const r = await gateway.offer({ detail }).result;
    console.log(detail, r.success, r.truncated, (r.result_data as string)?.length, r.error_message, Math.round(performance.now() - t), 'ms', hwm());
  }
  child.kill('SIGTERM'); await new Promise((r) => child.on('exit', r)); await gateway.close(); await database.drop();
}, 120000);
