import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLicense } from '../../crypto/license-key.js';
import { runSvc } from './run-svc.js';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-license-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Knows no server and has no configuration. */
const svc = (...words: string[]) => runSvc(['license', ...words], { directory });
const keygen = async (file: string) => (await svc('keygen', '--out', file)).stdout.trim();
const issue = async (file: string, ...words: string[]) =>
  (await svc('issue', '--key', file, '--plan', 'team', '--to', 'Example Ltd', ...words)).stdout.trim();

describe('svc license keygen (CL-50)', () => {
  it('writes a private key that only its owner reads, and the public key to stdout', async () => {
    const { code, stdout } = await svc('keygen', '--out', 'own.pem');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^[0-9a-f]{64}\n$/)]);
    expect(statSync(join(directory, 'own.pem')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(directory, 'own.pem'), 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  });

  it('writes over no file unless told to', async () => {
    await keygen('kept.pem');
    const before = readFileSync(join(directory, 'kept.pem'), 'utf8');
    expect(await svc('keygen', '--out', 'kept.pem')).toMatchObject({ code: 2, stdout: '' });
    expect(readFileSync(join(directory, 'kept.pem'), 'utf8')).toBe(before);
    expect(await svc('keygen', '--out', 'kept.pem', '--force')).toMatchObject({ code: 0 });
    expect(readFileSync(join(directory, 'kept.pem'), 'utf8')).not.toBe(before);
    expect(await svc('keygen', '--out', 'no/such/folder')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('svc license issue (CL-51)', () => {
  it('prints a key that the public key verifies (OP-46)', async () => {
    const publicKey = await keygen('issuer.pem');
    const key = await issue('issuer.pem', '--expires', '2032-01-01T00:00:00Z', '--max-users', '7', '--key-id', 'lic-x');
    expect(readLicense(key, publicKey)).toMatchObject({
      keyId: 'lic-x',
      plan: 'team',
      issuedTo: 'Example Ltd',
      expiresAt: Date.parse('2032-01-01'),
      limits: { maxUsers: 7, maxDatabases: 20, oidc: true },
    });
    expect(readLicense(await issue('issuer.pem', '--expires', '1d'), publicKey)).toMatchObject({
      keyId: expect.stringMatching(/^lic-[0-9a-f]{8}$/),
    });
  });

  it('refuses what is no key, no plan, no name and no time', async () => {
    await keygen('strict.pem');
    writeFileSync(join(directory, 'text'), 'text');
    for (const words of [
      ['--key', 'text', '--plan', 'team', '--to', 'x', '--expires', '1d'],
      ['--key', 'missing', '--plan', 'team', '--to', 'x', '--expires', '1d'],
      ['--key', 'strict.pem', '--plan', 'gold', '--to', 'x', '--expires', '1d'],
      ['--key', 'strict.pem', '--plan', 'team', '--to', ' ', '--expires', '1d'],
      ['--key', 'strict.pem', '--plan', 'team', '--to', 'x', '--expires', 'soon'],
      ['--key', 'strict.pem', '--plan', 'team', '--to', 'x', '--expires', '1d', '--max-users', '-1'],
    ])
      expect(await svc('issue', ...words), words.join(' ')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('svc license show (CL-52)', () => {
  it('shows what a key says, from stdin too, and verifies nothing without the public key', async () => {
    await keygen('shown.pem');
    const key = await issue('shown.pem', '--expires', '2032-01-01');
    const { code, stdout, stderr } = await svc('show', key);
    expect([code, stderr]).toEqual([0, expect.stringContaining('nothing was verified')]);
    for (const line of [/^plan +team$/m, /^issued to +Example Ltd$/m, /^users +50$/m, /^expires +2032-01-01T23:59:59/m])
      expect(stdout).toMatch(line);
    const piped = await runSvc(['license', 'show', '-', '--json'], { directory, stdin: `${key}\n` });
    expect(JSON.parse(piped.stdout).data).toMatchObject({ payload: { issued_to: 'Example Ltd' }, signature_fits: null });
  });

  it('ends with 1 for another public key and for a key that has expired', async () => {
    const publicKey = await keygen('checked.pem');
    const [good, old] = [await issue('checked.pem', '--expires', '1d'), await issue('checked.pem', '--expires', '2026-01-01')];
    expect(await svc('show', good, '--public-key', publicKey)).toMatchObject({ code: 0 });
    const foreign = await svc('show', good, '--public-key', 'f'.repeat(64), '--json');
    expect([foreign.code, JSON.parse(foreign.stdout)]).toMatchObject([1, { ok: false, data: { signature_fits: false } }]);
    expect((await svc('show', old, '--public-key', publicKey)).stderr).toContain('expired 2026-01-01');
    expect(await svc('show', old, '--public-key', publicKey)).toMatchObject({ code: 1 });
    for (const no of ['x', 'svc_lic_v1.e30=.e30=']) expect(await svc('show', no)).toMatchObject({ code: 2, stdout: '' });
  });

  it('shows no control characters of a key', async () => {
    await keygen('hostile.pem');
    const key = (
      await svc('issue', '--key', 'hostile.pem', '--plan', 'team', '--to', 'a\u001b[2Jb', '--expires', '1d')
    ).stdout.trim();
    expect((await svc('show', key)).stdout).toContain('a\\u001b[2Jb');
  });
});
