import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../bin/sources.mjs';
import { install } from './install.mjs';

/** It takes as long as all others together. */
const types = {
  name: 'types',
  program: 'tsc',
  args: ['--noEmit', '--incremental', '--tsBuildInfoFile', 'dist/types.tsbuildinfo', '--project', '.'],
};
const others = [
  {
    name: 'types of the API',
    program: 'openapi-typescript',
    args: ['docs/openapi.json', '--output', 'dist/api-types.d.ts', '--default-non-nullable=false'],
  },
  {
    name: 'types of the console',
    program: 'tsc',
    args: ['--noEmit', '--incremental', '--tsBuildInfoFile', 'dist/console-types.tsbuildinfo', '--project', 'console'],
  },
  { name: 'format and lint', program: 'biome', args: ['check', '--error-on-warnings', '.'] },
  { name: 'who imports whom', program: 'depcruise', args: ['--config', 'dev/import-rules.cjs', '--output-type', 'err', '.'] },
  { name: 'unused code', program: 'knip', args: ['--config', 'dev/knip.json'] },
];
const stepWaitMs = 5 * 60_000;

await install();
await import('./console-types.mjs');
const failed = [];
await Promise.all([[types], others].map(inTurn));
process.stdout.write(failed.length === 0 ? 'All checks passed.\n' : `Failed: ${failed.join(', ')}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function inTurn(steps) {
  for (const step of steps) if (!(await passes(step))) failed.push(step.name);
}

async function passes({ name, program, args }) {
  const startedAt = Date.now();
  const { code, output } = await run(join(root, 'node_modules/.bin', program), args);
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(`${code === 0 ? 'ok  ' : 'FAIL'}  ${name.padEnd(20)} ${seconds.padStart(5)} s\n`);
  if (code !== 0) process.stdout.write(`${output.trimEnd()}\n`);
  return code === 0;
}

function run(file, args) {
  const child = spawn(file, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], timeout: stepWaitMs });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 1, output: error.message }));
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
