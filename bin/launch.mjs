import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { currentBuild, workflowBundle } from './build.mjs';
import { checkNode } from './node-version.mjs';
import { root } from './sources.mjs';

/** Long-running commands: source maps are worth loading there for readable stacks, but not in a command of 50 ms. */
const hosts = ['server', 'worker', 'dev'];

/** Runs `main(argv)` of a built entry, after a build when a source has changed, and ends the process with its exit code. */
export async function launch(entry) {
  checkNode();
  if (!existsSync(join(root, 'node_modules'))) fail('the packages are not installed; run: npm ci');
  const command = process.argv.slice(2).find((word) => !word.startsWith('-'));
  const code = await run(entry, command).catch((error) => fail(error.stack ?? String(error)));
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  process.exit(code);
}

async function run(entry, command) {
  const folder = await currentBuild().catch((error) => fail(error.message));
  if (entry !== 'cli-main' || hosts.includes(command)) process.setSourceMapsEnabled(true);
  if (entry === 'cli-main' && command === 'worker') await workflowBundle();
  const { main } = await import(pathToFileURL(join(folder, `${entry}.js`)).href);
  return main(process.argv.slice(2));
}

function fail(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(1);
}

/** A pipe without a reader must not keep the process alive. */
function flushed(stream) {
  return new Promise((resolve) => {
    stream.once('error', resolve);
    stream.write('', resolve);
  });
}
