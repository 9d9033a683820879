import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { currentBuild, workflowBundle } from '../bin/build.mjs';
import { root } from '../bin/sources.mjs';
import { install } from './install.mjs';

/** The projects of vitest.config.ts that each part runs, and its share of the proofs; named files run in any case. */
const parts = {
  tests: { projects: ['tests', 'isolated'], proofs: 'share' },
  proofs: { projects: ['proofs'], proofs: 'full' },
};
const usage = 'usage: node dev/test.mjs tests|proofs|all [arguments of vitest]';

const [name, ...rest] = process.argv.slice(2);
const chosen = name === 'all' ? Object.keys(parts) : [name];
if (!chosen.every((each) => each in parts)) {
  process.stderr.write(`${usage}\n`);
  process.exit(2);
}
await install();
process.stdout.write('Building the programs and the workflows ...\n');
await currentBuild();
await workflowBundle();
process.exitCode = run('--import', 'tsx', join(root, 'test/support/get-programs.ts')) === 0 ? runParts() : 1;

function runParts() {
  const outcomes = chosen.map(runPart);
  const sum = (key) => outcomes.reduce((total, outcome) => total + outcome[key], 0);
  if (outcomes.length > 1) for (const [n, outcome] of outcomes.entries()) say(`${chosen[n]}: ${counted(outcome)}`);
  if (outcomes.some(({ isWhole }) => !isWhole)) say('The tests did not run to their end.');
  else if (sum('code') !== 0 && sum('failed') === 0) say('A test file failed outside its tests; see above.');
  say(counted({ passed: sum('passed'), failed: sum('failed') }));
  for (const line of new Set(outcomes.flatMap(({ notRun }) => notRun))) say(line);
  if (!chosen.includes('proofs')) say('not run: proofs, but for a share of them: npm run proofs');
  return outcomes.every(({ code }) => code === 0) ? 0 : 1;
}

function runPart(part) {
  const { projects, proofs } = parts[part];
  const folder = mkdtempSync(join(tmpdir(), 'svc-report-'));
  const report = join(folder, 'report.json');
  const notRun = join(folder, 'not-run.txt');
  const isNamed = rest.some((word) => !word.startsWith('-'));
  Object.assign(process.env, { SVC_TEST_NOT_RUN: notRun, SVC_TEST_PROOFS: isNamed && part === 'tests' ? '' : proofs });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const wanted = isNamed ? rest : [...projects.map((project) => `--project=${project}`), ...rest];
  const code = run(join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...wanted);
  const lines = existsSync(notRun) ? readFileSync(notRun, 'utf8').trimEnd().split('\n') : [];
  const counts = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : null;
  rmSync(folder, { recursive: true, force: true });
  const { numPassedTests: passed = 0, numFailedTests: failed = 0 } = counts ?? {};
  return { code: counts === null ? 1 : code, passed, failed, isWhole: counts !== null, notRun: lines };
}

function counted({ passed, failed }) {
  return `${passed} passed, ${failed} failed`;
}

function say(line) {
  process.stdout.write(`${line}\n`);
}

function run(...args) {
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
}
