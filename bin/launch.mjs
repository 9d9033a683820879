import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { currentBuild, currentClient, workflowBundle } from './build.mjs';
import { end, fail, runClient } from './client.cjs';
import { currentConsole } from './console.mjs';
import { checkNode } from './node-version.cjs';
import { root } from './sources.mjs';

/** Long-running commands: source maps are worth loading there for readable stacks, but not in a short command. */
const hosts = ['server', 'worker', 'dev'];

/** Runs `main(argv)` of a built entry, after a build when a source has changed, and ends the process with its exit code. */
export async function launch(entry) {
  requireParts();
  const command = process.argv.slice(2).find((word) => !word.startsWith('-'));
  // A release has neither the engines nor the demo.
  if (command === 'dev' && !existsSync(join(root, 'dev'))) fail('svc dev is part of the repository; clone it and run: npm start');
  await end(run(entry, command));
}

/** Builds the client of `svc` and runs it. */
export async function launchClient() {
  requireParts();
  const file = await currentClient().catch((error) => fail(error.message));
  await end(runClient(file, process.argv.slice(2)));
}

function requireParts() {
  checkNode();
  const isClone = existsSync(join(root, 'package-lock.json'));
  if (isClone && !existsSync(join(root, 'node_modules'))) fail('the packages are not installed; run: npm ci');
}

/** A start runs much code once, which is not worth optimizing: it would take 40 % more CPU. */
const startMs = 3000;

/**
 * V8 optimizes a function once it has run so many bytes of it. With Node 20's own 67,584, the programs of a quiet gateway take thousands of requests until
 * they are as fast as they get: of a read after 500 others, this saves server and agent a ninth of their CPU; after 4,000, nothing. Node 24 is that
 * fast by itself, and does not know the setting.
 */
function optimizeEarly() {
  if (!process.versions.node.startsWith('20.')) return;
  setTimeout(() => setFlagsFromString('--interrupt-budget=10000'), startMs).unref();
}

async function run(entry, command) {
  const folder = await currentBuild().catch((error) => fail(error.message));
  if (entry !== 'cli-main' || hosts.includes(command)) {
    process.setSourceMapsEnabled(true);
    optimizeEarly();
  }
  if (entry === 'cli-main' && command === 'worker') await workflowBundle();
  if (entry === 'cli-main' && command === 'server') await currentConsole().catch((error) => fail(error.message));
  const { main } = await import(pathToFileURL(join(folder, `${entry}.js`)).href);
  return main(process.argv.slice(2));
}
