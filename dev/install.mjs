import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeLock } from '../bin/lock.mjs';
import { checkNode } from '../bin/node-version.cjs';
import { root } from '../bin/sources.mjs';

const waitMs = 10 * 60_000;

/**
 * Checks the Node version, and runs `npm ci` when the packages are missing or older than the lockfile; ends the process on
 * failure.
 */
export async function install() {
  checkNode();
  if (isInstalled()) return;
  mkdirSync(join(root, 'dist'), { recursive: true });
  const release = await lock(join(root, 'dist', 'install.lock'));
  try {
    if (!isInstalled()) runNpm();
  } finally {
    release();
  }
}

function isInstalled() {
  const mark = join(root, 'node_modules', '.package-lock.json');
  return existsSync(mark) && statSync(mark).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

function runNpm() {
  process.stdout.write('Installing the packages (npm ci), about a minute ...\n');
  const startedAt = Date.now();
  const npm = process.env.npm_execpath;
  const [file, ...args] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const { status } = spawnSync(file, [...args, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) {
    process.stderr.write('error: npm ci failed; see its messages above, then start again\n');
    process.exit(1);
  }
  process.stdout.write(`Installed in ${Math.round((Date.now() - startedAt) / 1000)} s\n`);
}

async function lock(file) {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const taken = takeLock(file);
    if (taken.release) return taken.release;
    if (Date.now() > deadline)
      throw new Error(`process ${taken.holder} has been installing for too long; stop it and start again`);
    await sleep(200);
  }
}
