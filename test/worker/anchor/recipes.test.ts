import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commandAnchor } from '../../../worker/anchor/command.js';

const page = readFileSync(new URL('../../../docs/audit.md', import.meta.url), 'utf8');
const noteOf = (size: number, root = 'AAAA') => `svc\n${size}\n${root}\n\n— svc sig\n`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-recipe-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A script of docs/audit.md, as a user would copy it. */
function script(name: string): string {
  const blocks = [...page.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, text]) => text!);
  const [text, ...others] = blocks.filter((block) => block.startsWith(`#!/bin/sh\n# ${name} `));
  expect(others).toEqual([]);
  writeFileSync(join(folder, name), text!, { mode: 0o755 });
  return join(folder, name);
}

const give = (command: string[], note: string) =>
  commandAnchor({ command, timeoutMs: 20_000, environment: { PATH: process.env.PATH, HOME: folder, TMPDIR: tmpDir() } })(
    note,
    new AbortController().signal,
  );

const tmpDir = () => {
  execFileSync('mkdir', ['-p', join(folder, 'tmp')]);
  return join(folder, 'tmp');
};
const leftBehind = () => readdirSync(tmpDir());
const run = (program: string, ...args: string[]) => execFileSync(program, args, { cwd: folder, stdio: 'pipe' }).toString();
const textOf = (outcome: Awaited<ReturnType<typeof give>>) =>
  outcome.kind === 'anchored' ? Buffer.from(outcome.answer).toString() : outcome;

describe('the script that keeps checkpoints in a Git repository', () => {
  let command: string[];
  beforeEach(() => {
    run('git', 'init', '--quiet', '--bare', '--initial-branch=main', 'kept.git');
    for (const rule of ['denyNonFastForwards', 'denyDeletes']) run('git', '-C', 'kept.git', 'config', `receive.${rule}`, 'true');
    run('git', 'clone', '--quiet', 'kept.git', 'first');
    const who = ['-c', 'user.name=t', '-c', 'user.email=t@localhost'];
    run('git', '-C', 'first', ...who, 'commit', '--quiet', '--allow-empty', '-m', 'begin');
    run('git', '-C', 'first', 'push', '--quiet', 'origin', 'HEAD:main');
    command = [script('anchor-git'), `file://${join(folder, 'kept.git')}`];
  });
  const kept = (path: string) => run('git', '-C', 'kept.git', 'show', path);
  const commits = () => run('git', '-C', 'kept.git', 'rev-list', 'main').trim().split('\n');

  it('answers the commit that has it, and takes the same twice (AU-88, AU-90)', async () => {
    const first = textOf(await give(command, noteOf(101)));
    expect(first).toBe(`${commits()[0]}\n`);
    expect(kept('main:101.txt')).toBe(noteOf(101));
    expect(textOf(await give(command, noteOf(101)))).toBe(first);
    const second = textOf(await give(command, noteOf(202)));
    expect(second).toBe(`${commits()[0]}\n`);
    expect([kept('main:101.txt'), kept('main:202.txt'), commits().length]).toEqual([noteOf(101), noteOf(202), 3]);
    expect(leftBehind()).toEqual([]);
  });

  it('fails for another note of the same size, for what is no note, and when the repository is away', async () => {
    await give(command, noteOf(101));
    const before = commits();
    expect(await give(command, noteOf(101, 'BBBB'))).toMatchObject({ reason: 'exit_1', detail: expect.stringMatching(/differ/) });
    expect(await give(command, 'svc\n../../x\n')).toMatchObject({ kind: 'failed', reason: 'exit_1' });
    expect(await give([command[0]!, join(folder, 'none.git')], noteOf(303))).toMatchObject({ kind: 'failed' });
    expect([commits(), kept('main:101.txt'), leftBehind()]).toEqual([before, noteOf(101), []]);
  });
});

describe('the script that has checkpoints stamped with the time', () => {
  let authority: Server;
  let command: string[];
  /** What the authority answers instead. */
  let instead: Buffer | null;
  beforeEach(async () => {
    instead = null;
    makeAuthority();
    authority = createServer(async (request, response) => {
      const query = await buffer(request);
      expect(request.headers['content-type']).toBe('application/timestamp-query');
      writeFileSync(join(folder, 'asked'), query);
      run('openssl', 'ts', '-reply', '-config', 'tsa.cnf', '-queryfile', 'asked', '-out', 'stamped');
      response.setHeader('content-type', 'application/timestamp-reply').end(instead ?? readFileSync(join(folder, 'stamped')));
    });
    await new Promise<void>((resolve) => authority.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(authority.address() as AddressInfo).port}/`;
    command = [script('anchor-time-stamp'), url, join(folder, 'tsa.pem')];
  });
  afterEach(() => void authority.close());

  function makeAuthority(): void {
    const own = ['-subj', '/CN=tsa', '-addext', 'extendedKeyUsage=critical,timeStamping'];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'tsa.key'];
    run('openssl', 'req', '-x509', ...key, '-out', 'tsa.pem', ...own);
    const settings = ['serial = serial', 'signer_cert = tsa.pem', 'signer_key = tsa.key', 'signer_digest = sha256'];
    const allowed = ['default_policy = 1.2.3.4', 'digests = sha256', 'ess_cert_id_alg = sha256'];
    writeFileSync(join(folder, 'tsa.cnf'), ['[tsa]', 'default_tsa = own', '[own]', ...settings, ...allowed, ''].join('\n'));
    writeFileSync(join(folder, 'serial'), '01\n');
  }

  it('answers what the authority signed, which proves the note later (AU-87, AU-90)', async () => {
    const outcome = await give(command, noteOf(101));
    expect(outcome).toMatchObject({ kind: 'anchored', isTruncated: false });
    writeFileSync(join(folder, 'reply.tsr'), outcome.kind === 'anchored' ? outcome.answer : '');
    writeFileSync(join(folder, 'note.txt'), noteOf(101));
    const later = ['ts', '-verify', '-data', 'note.txt', '-in', 'reply.tsr', '-CAfile', 'tsa.pem'];
    expect(run('openssl', ...later)).toContain('Verification: OK');
    writeFileSync(join(folder, 'note.txt'), noteOf(101, 'BBBB'));
    expect(() => run('openssl', ...later)).toThrow();
    expect(await give(command, noteOf(101))).toMatchObject({ kind: 'anchored' });
    expect(leftBehind()).toEqual([]);
  });

  it('fails for the stamp of another note, for a refusal and for an authority that is not the one it knows', async () => {
    const other = await give(command, noteOf(202));
    instead = Buffer.from(other.kind === 'anchored' ? other.answer : []);
    expect(await give(command, noteOf(101))).toMatchObject({ reason: 'exit_1', detail: expect.stringMatching(/mismatch/) });
    // PKIStatusInfo with status 2, rejection.
    instead = Buffer.from('30053003020102', 'hex');
    expect(await give(command, noteOf(101))).toMatchObject({
      reason: 'exit_1',
      detail: expect.stringMatching(/status code: rejection/),
    });
    instead = null;
    const known = readFileSync(join(folder, 'tsa.pem'));
    makeAuthority();
    writeFileSync(join(folder, 'known.pem'), known);
    expect(await give([...command.slice(0, 2), join(folder, 'known.pem')], noteOf(101))).toMatchObject({
      reason: 'exit_1',
      detail: expect.stringMatching(/certificate verify error/),
    });
    expect(await give(command, noteOf(101))).toMatchObject({ kind: 'anchored' });
    expect(leftBehind()).toEqual([]);
  });
});
