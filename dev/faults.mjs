import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { currentBuild, workflowBundle } from '../bin/build.mjs';
import { root } from '../bin/sources.mjs';
import { install } from './install.mjs';

const usage = `usage: npm run faults -- [options]
Runs two servers, two workers and three agents under load, takes away one part after the other, lets everything come back, and counts.
--seed N           plays the outages of an earlier run again
--minutes M        plays for so long at least (1)
--requests N       and until so many requests were made (0)
--callers N        who submit one after the other (6)
--only WORDS       plays those outages alone whose names hold one of the words, such as "killed,target"; programs are killed in any case
--frozen S         how long PostgreSQL stands still, in seconds (6)
--temporal-away S  how long Temporal is away, in seconds (6)
The last line is JSON. The exit code is 0 if nothing was lost, doubled, stuck or wrong. The folder of a run that found something is kept.`;

const numbers = ['seed', 'minutes', 'requests', 'callers', 'frozen', 'temporal-away'];
const asked = readAsked();
await install();
await currentBuild();
await workflowBundle();
if (
  spawnSync(process.execPath, ['--import', 'tsx', join(root, 'test/support/get-programs.ts')], { stdio: 'inherit' }).status !== 0
)
  process.exit(1);

const folder = mkdtempSync(join(tmpdir(), 'svc-faults-'));
const [report, output] = ['report.txt', 'output.txt'].map((name) => join(folder, name));
process.stdout.write(`seed ${asked.seed}; logs in ${folder}\n`);
const code = await runTest();
const lines = readReport();
const last = lines.findLast((line) => line.startsWith('{'));
if (code === 0) rmSync(folder, { recursive: true });
else process.stdout.write(`${tail()}\n`);
process.stdout.write(`${last ?? JSON.stringify({ seed: asked.seed, failed: true })}\n`);
process.exitCode = code;

function readAsked() {
  try {
    const options = Object.fromEntries([...numbers, 'only'].map((name) => [name, { type: 'string' }]));
    const {
      values: { only, ...values },
    } = parseArgs({ options, strict: true });
    for (const [name, text] of Object.entries(values))
      if (!/^\d{1,9}(\.\d+)?$/.test(text)) throw new Error(`--${name}: not a number: ${text}`);
    const { 'temporal-away': temporalAway, ...rest } = Object.fromEntries(
      Object.entries(values).map(([name, text]) => [name, Number(text)]),
    );
    const given = { ...rest, ...(temporalAway === undefined ? {} : { temporalAway }), ...(only === undefined ? {} : { only }) };
    return { seed: randomInt(2 ** 30), ...given };
  } catch (error) {
    process.stderr.write(`${error.message}\n${usage}\n`);
    process.exit(2);
  }
}

/** Runs the test of test/faults/faults.test.ts, and shows its report as it grows. */
async function runTest() {
  const log = openSync(output, 'w');
  const words = ['run', '--project=proofs', 'test/faults/faults.test.ts'];
  const environment = {
    ...process.env,
    SVC_TEST_PROOFS: 'full',
    SVC_TEST_FAULTS: JSON.stringify({ ...asked, report, logs: folder }),
  };
  const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...words], {
    cwd: root,
    stdio: ['ignore', log, log],
    env: environment,
  });
  closeSync(log);
  let code = null;
  child.once('exit', (ended, signal) => {
    code = signal === null ? ended : 1;
  });
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => child.kill(name));
  for (let shown = 0; ; await sleep(500)) {
    const isOver = code !== null;
    const found = readReport().filter((line) => !line.startsWith('{'));
    for (const line of found.slice(shown)) process.stdout.write(`${line}\n`);
    shown = found.length;
    if (isOver) return code;
  }
}

function readReport() {
  return existsSync(report) ? readFileSync(report, 'utf8').split('\n').filter(Boolean) : [];
}

function tail() {
  return readFileSync(output, 'utf8').trimEnd().split('\n').slice(-60).join('\n');
}
