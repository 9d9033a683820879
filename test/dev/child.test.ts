import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lastLines, startChild } from '../../dev/child.js';
import { eventually, isAlive, runScript, temporaryFolder } from '../support/processes.js';

const parent = fileURLToPath(new URL('./fixtures/parent.ts', import.meta.url));

/** A child under a watcher, as where there is no setpriv, and who started it. */
async function startWatched() {
  const folder = await temporaryFolder();
  const path = await pathWithout('setpriv', folder);
  const { process: starter, line } = await runScript(parent, ['sleep', folder], { PATH: path });
  const watcher = Number(line.split(' ')[0]);
  const [sleeper] = await childrenOf(watcher);
  if (sleeper === undefined) throw new Error('the watcher has no child');
  return { starter, watcher, sleeper };
}

describe('a child of svc dev', () => {
  it.runIf(process.platform === 'linux')('ends with a parent that is killed, by the kernel (DV-6)', async () => {
    const { process: killed, line } = await runScript(parent, ['sleep', await temporaryFolder()]);
    const pid = Number(line.split(' ')[0]);
    await eventually(() => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n');
    killed.kill('SIGKILL');
    await eventually(() => !isAlive(pid));
  });

  it.runIf(process.platform === 'linux')('does not begin when its parent dies before the kernel is asked (DV-6)', async () => {
    const folder = await temporaryFolder();
    const path = await pathWithLateSetpriv(folder);
    const { process: killed, line } = await runScript(parent, ['sleep', folder], { PATH: path });
    const pid = Number(line.split(' ')[0]);
    expect(isAlive(pid)).toBe(true);
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    writeFileSync(join(folder, 'orphaned'), '');
    await eventually(() => !isAlive(pid));
  });

  it('ends with a parent that is killed, by a watcher, where the kernel has no such service (DV-6)', async () => {
    const { starter, watcher, sleeper } = await startWatched();
    starter.kill('SIGKILL');
    await eventually(() => !isAlive(watcher) && !isAlive(sleeper));
  });

  it('leaves nothing when it is killed with its watcher, which cannot pass that on (DV-6)', async () => {
    const { starter, watcher, sleeper } = await startWatched();
    onTestFinished(() => void (isAlive(sleeper) && process.kill(sleeper, 'SIGKILL')));
    starter.kill('SIGUSR2');
    await eventually(() => !isAlive(watcher));
    await eventually(() => !isAlive(sleeper), 3000);
  });

  it('is killed when it does not follow the stop signal in time', async () => {
    const folder = await temporaryFolder();
    const script = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('deaf')`;
    const logFile = join(folder, 'deaf.log');
    const child = startChild({ name: 'deaf', file: process.execPath, args: ['-e', script], logFile, deathSignal: 'SIGKILL' });
    await eventually(() => lastLines(logFile, 1) === 'deaf');
    await child.stop('SIGTERM', 10);
    expect(await child.exited).toBe('signal SIGKILL');
    expect(child.hasExited()).toBe(true);
  });

  it('gives way to the others when told to', async () => {
    const logFile = join(await temporaryFolder(), 'quiet.log');
    const args = ['-e', 'setInterval(() => {}, 1000)'];
    const child = startChild({ name: 'quiet', file: process.execPath, args, logFile, deathSignal: 'SIGKILL' });
    expect(getPriority(child.pid)).toBe(getPriority());
    child.giveWay();
    expect(getPriority(child.pid)).toBeGreaterThan(getPriority());
    await child.stop('SIGTERM', 1000);
  });

  it('tells how it ended when its program is missing', async () => {
    const logFile = join(await temporaryFolder(), 'missing.log');
    const child = startChild({ name: 'missing', file: '/no/such/program', args: [], logFile, deathSignal: 'SIGKILL' });
    expect(await child.exited).toMatch(/exit code|ENOENT/);
  });
});

/** A PATH whose `setpriv` asks nothing of the kernel before there is a file `orphaned`, or for half a minute. */
async function pathWithLateSetpriv(folder: string): Promise<string> {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const { PATH } = process.env;
  const lines = [
    '#!/bin/sh',
    `PATH='${PATH}'`,
    `case "$*" in *"-- true") exec setpriv "$@";; esac`,
    `for n in $(seq 300); do [ -e '${folder}/orphaned' ] && break; sleep 0.1; done`,
    'exec setpriv "$@"',
  ];
  writeFileSync(join(bin, 'setpriv'), lines.join('\n'), { mode: 0o755 });
  return `${bin}:${PATH}`;
}

/** A PATH with what the fixture needs, but not the named program. */
async function pathWithout(_name: string, folder: string): Promise<string> {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync('/bin/sleep', join(bin, 'sleep'));
  symlinkSync(process.execPath, join(bin, 'node'));
  return `${bin}:${dirname(process.execPath)}-none`;
}

async function childrenOf(pid: number): Promise<number[]> {
  const file = `/proc/${pid}/task/${pid}/children`;
  let children: number[] = [];
  await eventually(() => {
    children = readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number);
    return children.length > 0;
  });
  return children;
}
