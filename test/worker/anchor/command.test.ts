import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sleep } from '../../../lib/sleep.js';
import { commandAnchor } from '../../../worker/anchor/command.js';
import { eventually } from '../../support/processes.js';

const note = 'svc\n101\nAAAA\n\n— svc sig\n';
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-anchor-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function script(text: string): string[] {
  const file = join(folder, 'anchor');
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return [file];
}

const give = (
  command: readonly string[],
  options: { timeoutMs?: number; environment?: NodeJS.ProcessEnv; signal?: AbortSignal } = {},
) => commandAnchor({ command, timeoutMs: 20_000, ...options })(note, options.signal ?? new AbortController().signal);

/** Processes with this text in their command line. */
const running = (text: string) => {
  const all = execFileSync('ps', ['-eo', 'pid=,stat=,args=']).toString().split('\n');
  return all.filter((line) => line.includes(text) && !/^\s*\d+\s+Z/.test(line));
};
const untilGone = (text: string) => eventually(() => running(text).length === 0);
const marker = () => `30${Math.floor(Math.random() * 1e6)}.5`;

describe('an anchor that is a command (AU-90)', () => {
  it('gets the note on stdin, and its stdout is the answer, byte for byte', async () => {
    const outcome = await give(script(`cat > ${folder}/got; printf 'ok\\000\\377\\n'`));
    expect(outcome).toEqual({ kind: 'anchored', answer: Uint8Array.of(0x6f, 0x6b, 0, 0xff, 0x0a), isTruncated: false });
    expect(readFileSync(join(folder, 'got'), 'utf8')).toBe(note);
  });

  it('is given its arguments as they are, without a shell', async () => {
    const outcome = await give([...script('printf "%s|" "$@"'), '$HOME', '; touch /tmp/x', '*', '*']);
    expect(outcome).toMatchObject({ kind: 'anchored', answer: new Uint8Array(Buffer.from('$HOME|; touch /tmp/x|*|*|')) });
  });

  it('sees nothing of the environment of the worker but where programs and home are, language and time zone', async () => {
    const environment = {
      PATH: process.env.PATH,
      HOME: folder,
      LANG: 'C.UTF-8',
      LC_ALL: 'C.UTF-8',
      TZ: 'UTC',
      TMPDIR: folder,
      SVC_SECRET_KEY: 'marker-1',
      DATABASE_URL: 'marker-2',
      AWS_SECRET_ACCESS_KEY: 'marker-3',
      PGPASSWORD: 'marker-4',
      NODE_OPTIONS: '',
      SSH_AUTH_SOCK: '/x',
      LD_PRELOAD: '',
      LC_x: 'marker-5',
      PATH2: 'marker-6',
    };
    const outcome = await give(['/usr/bin/env'], { environment });
    const names =
      outcome.kind === 'anchored'
        ? Buffer.from(outcome.answer)
            .toString()
            .match(/^\w+(?==)/gm)
        : [];
    expect(names?.toSorted()).toEqual(['HOME', 'LANG', 'LC_ALL', 'PATH', 'TMPDIR', 'TZ']);
  });

  it('has failed when it ends with anything but 0, and its errors are for the log only', async () => {
    expect(await give(script('echo no >&2; echo half; exit 7'))).toEqual({ kind: 'failed', reason: 'exit_7', detail: 'no' });
    expect(await give(script('kill -9 $$'))).toMatchObject({ kind: 'failed', reason: 'signal_sigkill' });
    expect(await give([join(folder, 'missing')])).toMatchObject({ kind: 'failed', reason: 'cannot_start_enoent' });
    writeFileSync(join(folder, 'text'), 'no program');
    expect(await give([join(folder, 'text')])).toMatchObject({ kind: 'failed', reason: 'cannot_start_eacces' });
  });

  it('may leave its stdin unread, or closed (EPIPE)', async () => {
    expect(await give(script('exec 0<&-; exit 0'))).toMatchObject({ kind: 'anchored' });
    const long = await commandAnchor({ command: ['/bin/true'], timeoutMs: 5000 })(
      'x'.repeat(1_000_000),
      new AbortController().signal,
    );
    expect(long).toMatchObject({ kind: 'anchored' });
  });

  it('that hangs is ended with all that it started, also when it ignores the polite request', async () => {
    const time = marker();
    const outcome = await give(script(`trap '' TERM\nsleep ${time} &\nsleep ${time} & wait; wait; sleep ${time}`), {
      timeoutMs: 300,
    });
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'timeout' });
    await untilGone(time);
  });

  it('is asked to end first, so that it can put its locks away', async () => {
    const outcome = await give(script(`trap 'touch ${folder}/tidy; exit 0' TERM\necho up\nwhile :; do sleep 0.05; done`), {
      timeoutMs: 500,
    });
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'timeout' });
    expect(existsSync(join(folder, 'tidy'))).toBe(true);
  });

  it('leaves nothing behind when it ends in time and something that it forked does not', async () => {
    const time = marker();
    expect(await give(script(`sleep ${time} &\necho done`))).toMatchObject({ kind: 'anchored' });
    await untilGone(time);
  });

  it('does not hold the worker where a fork has left the group and keeps stdout open', async () => {
    const time = marker();
    expect(await give(script(`setsid sleep ${time} &\necho done`))).toMatchObject({ kind: 'anchored' });
    for (const line of running(time)) process.kill(Number(/\d+/.exec(line)![0]), 'SIGKILL');
  });

  it('that floods is stopped, and the memory of the worker stays small', async () => {
    const before = process.memoryUsage().rss;
    expect(await give(script('exec yes'))).toMatchObject({ kind: 'failed', reason: 'answer_too_long' });
    expect(await give(script('exec yes >&2'))).toMatchObject({ kind: 'failed', reason: 'too_many_errors' });
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    const exact = await give(script('head -c 65536 /dev/zero'));
    expect(exact).toMatchObject({ kind: 'anchored', isTruncated: false });
    expect(exact.kind === 'anchored' && exact.answer.length).toBe(65_536);
    expect(await give(script('head -c 65537 /dev/zero; sleep 0.2'))).toMatchObject({ reason: 'answer_too_long' });
  });

  it('ends when the worker stops', async () => {
    const time = marker();
    const stopping = new AbortController();
    const giving = give(script(`sleep ${time}`), { signal: stopping.signal });
    await eventually(() => running(time).length > 0);
    stopping.abort();
    expect(await giving).toMatchObject({ kind: 'failed', reason: 'stopped' });
    await untilGone(time);
    expect(await give(script(`touch ${folder}/late`), { signal: stopping.signal })).toMatchObject({ reason: 'stopped' });
    await sleep(100);
    expect(existsSync(join(folder, 'late'))).toBe(false);
  });
});
