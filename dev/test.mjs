import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { currentBuild, root, workflowBundle } from '../bin/build.mjs';
import { install } from './install.mjs';

await install();
process.stdout.write('Building the programs and the workflows ...\n');
await currentBuild();
await workflowBundle();
const prepared = run(join(root, 'dev/get-temporal.mjs'), []);
process.exitCode = prepared === 0 ? test() : prepared;

function test() {
  const folder = mkdtempSync(join(tmpdir(), 'svc-report-'));
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const notRun = join(folder, 'not-run.txt');
  process.env.SVC_TEST_NOT_RUN = notRun;
  const code = run(join(root, 'node_modules/vitest/vitest.mjs'), ['run', ...reporters, ...process.argv.slice(2)]);
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
    if (code !== 0 && numFailedTests === 0) process.stdout.write('A test file failed outside its tests; see above.\n');
    process.stdout.write(`${numPassedTests} passed, ${numFailedTests} failed\n`);
  } catch {
    process.stdout.write('The tests did not run to their end.\n');
  }
  if (existsSync(notRun)) process.stdout.write(readFileSync(notRun));
  rmSync(folder, { recursive: true, force: true });
  return code;
}

function run(file, args) {
  return spawnSync(process.execPath, [file, ...args], { cwd: root, stdio: 'inherit' }).status ?? 1;
}
