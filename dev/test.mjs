import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { currentBuild, currentClient, workflowBundle } from '../bin/build.mjs';
import { currentConsole } from '../bin/console.mjs';
import { root } from '../bin/sources.mjs';
import { install } from './install.mjs';
import { describeFailure, filesToRunAgain, readReport } from './test-report.mjs';

/** The projects of vitest.config.ts that each part runs, and its share of the proofs; named files run in any case. */
const parts = {
  tests: { projects: ['tests', 'isolated'], proofs: 'share' },
  proofs: { projects: ['proofs'], proofs: 'full' },
};
const usage =
  'usage: node dev/test.mjs tests|proofs|all [--again] [arguments of vitest]\n--again: run a few failed files a second time; what passes then is named in the last lines';

const [name, ...words] = process.argv.slice(2);
const isAgain = words.includes('--again');
const rest = words.filter((word) => word !== '--again');
const chosen = name === 'all' ? Object.keys(parts) : [name];
if (!chosen.every((each) => each in parts)) {
  process.stderr.write(`${usage}\n`);
  process.exit(2);
}
await install();
process.stdout.write('Building the programs and the workflows ...\n');
/** Threads of the classifier start in tests from the build (sql/classifier-worker-source.mjs). */
process.env.SVC_TEST_CLASSIFIER_WORKER = join(await currentBuild(), 'classifier-worker.js');
await currentClient();
await currentConsole();
await workflowBundle();
process.exitCode = run('--import', 'tsx', join(root, 'test/support/get-programs.ts')) === 0 ? runParts() : 1;

function runParts() {
  const outcomes = chosen.map(runPart);
  const sum = (key) => outcomes.reduce((total, outcome) => total + outcome[key], 0);
  if (outcomes.length > 1) for (const [n, outcome] of outcomes.entries()) say(`${chosen[n]}: ${counted(outcome)}`);
  if (outcomes.some(({ isWhole }) => !isWhole)) say('The tests did not run to their end.');
  say(counted({ passed: sum('passed'), failed: sum('failed') }));
  for (const failure of outcomes.flatMap(({ failures }) => failures)) say(`failed: ${describeFailure(failure)}`);
  for (const failure of outcomes.flatMap(({ recovered }) => recovered))
    say(`failed once, passed when run again: ${describeFailure(failure)}`);
  for (const line of new Set(outcomes.flatMap(({ notRun }) => notRun))) say(line);
  if (!chosen.includes('proofs')) say('not run: proofs, but for a share of them: npm run proofs');
  return outcomes.every(({ code }) => code === 0) ? 0 : 1;
}

function runPart(part) {
  const { projects, proofs } = parts[part];
  const isNamed = rest.some((word) => !word.startsWith('-'));
  // No share of the proofs where they follow in full, or where files are named.
  const withoutProofs = part === 'tests' && (isNamed || chosen.includes('proofs'));
  process.env.SVC_TEST_PROOFS = withoutProofs ? '' : proofs;
  const outcome = runVitest(isNamed ? rest : [...projects.map((project) => `--project=${project}`), ...rest]);
  const files = isAgain && outcome.isWhole ? filesToRunAgain(outcome.failures) : [];
  if (files.length === 0) return outcome;
  say(`Running again what failed: ${files.join(', ')}`);
  const second = runVitest(files);
  if (second.code !== 0) return outcome;
  return { ...outcome, code: 0, passed: outcome.passed + outcome.failed, failed: 0, failures: [], recovered: outcome.failures };
}

function runVitest(wanted) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-report-'));
  const report = join(folder, 'report.json');
  const notRun = join(folder, 'not-run.txt');
  process.env.SVC_TEST_NOT_RUN = notRun;
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const code = run(join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...wanted);
  const lines = existsSync(notRun) ? readFileSync(notRun, 'utf8').trimEnd().split('\n') : [];
  const isWhole = existsSync(report);
  const read = isWhole ? readReport(JSON.parse(readFileSync(report, 'utf8'))) : { passed: 0, failed: 0, failures: [] };
  rmSync(folder, { recursive: true, force: true });
  return { ...read, code: isWhole ? code : 1, isWhole, notRun: lines, recovered: [] };
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
