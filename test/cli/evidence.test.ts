import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SigningKey, signingKeyFromSeed } from '../../crypto/ed25519.js';
import { evidenceTools } from '../../crypto/evidence-tools.js';
import { signCheckpoint } from '../../crypto/signed-note.js';
import { readAnchor } from '../../domain/evidence/anchor.js';
import { verifyEvidence } from '../../domain/evidence/verify.js';
import { bundleText } from '../domain/migration/bundles.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { sealAll } from '../support/audit-api.js';
import { evidenceToml, makeEvidence } from '../support/evidence.js';
import { runSvc } from './run-svc.js';

let api: TestApi;
let folder: string;
let signer: SigningKey;
let document: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-evidence-'));
  api = await startTestApi({ toml: evidenceToml });
  ({ document, signer } = await makeEvidence(api));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await api?.close();
});

const verify = (text: string) => verifyEvidence(text, { trustedKeys: null, anchor: null }, evidenceTools);
const faultOf = (text: string) => verify(text).fault?.code ?? null;

describe('svc evidence', () => {
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const svc = (...words: string[]) => runSvc(['evidence', ...words], { directory: folder });

  it('verifies a document without a server and tells its story (AU-85)', async () => {
    const path = file('good.json', document);
    const { code, stdout, stderr } = await svc('verify', path);
    expect([code, stderr]).toEqual([0, 'the keys are the document’s own: give the gateway’s audit key with --key\n']);
    for (const words of [
      /^request \S+: execute_select on shop\/production by rita, executed$/m,
      /rita asked: “to \\u\{?202e\}?look”/,
      /ada agreed as group:dba-team \(step 1 of 1\): “fine”/,
      /ben agreed as group:dba-team, the last approval/,
      /agent agent-1 began attempt 2/,
      /attempt 2 ended: committed/,
      /^ {2}select 7 as "a b"$/m,
    ])
      expect(stdout).toMatch(words);
    const trusted = await svc('verify', path, '--key', signer.publicKeyHex, '--json');
    expect([trusted.code, JSON.parse(trusted.stdout).data]).toMatchObject([
      0,
      { valid: true, fault: null, keys: 'given', log: { origin: 'svc' } },
    ]);
  });

  it('ends with 3 and the first thing that does not hold (AU-85)', async () => {
    const path = file('bad.json', document.replace('"user":"ada"', '"user":"eve"'));
    const { code, stdout, stderr } = await svc('verify', path);
    expect([code, stdout, stderr]).toEqual([
      3,
      '',
      'error: evidence verify: the document is not what was signed (signature_invalid)\n',
    ]);
    const told = await svc('verify', path, '--json');
    expect([told.code, JSON.parse(told.stdout)]).toMatchObject([
      3,
      { ok: false, data: { valid: false, fault: { code: 'signature_invalid' } }, error: { code: 'integrity_violation' } },
    ]);
    expect((await svc('verify', file('good.json', document), '--key', '0'.repeat(64))).code).toBe(3);
    expect((await svc('verify', file('none.json', ''))).code).toBe(3);
    expect((await svc('verify', join(folder, 'missing.json'))).code).toBe(2);
    expect((await svc('verify', file('good.json', document), '--key', 'x')).code).toBe(2);
  });

  it('fetches a document byte for byte and overwrites nothing (AU-85)', async () => {
    const id = JSON.parse(document).evidence.request.id;
    const options = { directory: folder, environment: { HOME: folder, SVC_SERVER_URL: api.url, SVC_TOKEN: api.tokens.admin } };
    const got = await runSvc(['evidence', 'get', id, '--output', 'got.json'], options);
    expect([got.code, got.stderr]).toEqual([0, 'check it with: svc evidence verify got.json\n']);
    expect(faultOf(readFileSync(join(folder, 'got.json'), 'utf8'))).toBeNull();
    expect((await runSvc(['evidence', 'get', id, '--output', 'got.json'], options)).code).toBe(2);
    const bare = await runSvc(['evidence', 'get', id.slice(0, 8), '--without-text', '--output', 'bare.json'], options);
    expect([bare.code, JSON.parse(readFileSync(join(folder, 'bare.json'), 'utf8')).evidence.content.detail]).toEqual([0, null]);
    expect((await svc('verify', join(folder, 'bare.json'))).stdout).toContain('\n\n  (the text is not in the document)\n\n');
    // What is hashed with an event cannot be left out of it.
    expect(readFileSync(join(folder, 'bare.json'), 'utf8')).toContain('"detail_raw":"select ?');
    expect(bare.stderr).toContain('its audit events show the SQL as the log has it ([audit] redaction)\n');
    expect((await runSvc(['evidence', 'get', id], options)).code).toBe(2);
  });

  it('shows a migration as its approvers saw it, file by file (AU-85)', async () => {
    const body = { operation: 'migrate_up', database: 'shop', environment: 'staging', detail: bundleText([7]), reason: 'a test' };
    const { id } = (await api.call('POST', '/api/requests', { token: api.tokens.requester, body })).body;
    await sealAll(api);
    const evidence = await api.call('GET', `/api/requests/${id}/evidence`, { token: api.tokens.admin });
    const { code, stdout } = await svc('verify', file('migration.json', evidence.text));
    expect(code).toBe(0);
    expect(stdout).toContain(
      `\n\n  applies the pending ones of 1 file, at most 1\n  directory hash ab\n\n  20310101000007\n    select 7\n\n`,
    );
  });

  it('shows by a later checkpoint that the log was only continued (AU-86)', async () => {
    const size = verify(document).log?.size as number;
    const path = file('good.json', document);
    const same = file('same.txt', JSON.parse(document).evidence.checkpoint);
    expect((await svc('verify', path, '--checkpoint', same)).stdout).toContain(`agrees with the checkpoint of ${size} events`);
    await api.createUser('nora');
    await sealAll(api);
    const get = async (query: string) =>
      (await api.call('GET', `/api/audit/checkpoint${query}`, { token: api.tokens.admin })).text;
    const later = await get(`?old=${size}`);
    const shown = await svc('verify', path, '--checkpoint', file('later.txt', later), '--json');
    expect([shown.code, JSON.parse(shown.stdout).data.kept.size > size]).toEqual([0, true]);
    const alone = await svc('verify', path, '--checkpoint', file('alone.txt', await get('')));
    expect([alone.code, alone.stderr]).toEqual([3, expect.stringContaining(`needs the proof from ${size} to`)]);
    const root = new Uint8Array(32);
    const wrong = [
      later.replace(/\n[A-Za-z0-9+/]{43}=\n/, `\n${Buffer.from(root).toString('base64')}\n`),
      `old ${size}\n\n${signCheckpoint({ origin: 'svc', size: size + 1, root }, signer)}`,
      signCheckpoint({ origin: 'svc', size, root }, signer),
      signCheckpoint({ origin: 'other', size, root }, signer),
      signCheckpoint({ origin: 'svc', size, root }, signingKeyFromSeed(new Uint8Array(32))),
    ];
    for (const [at, text] of wrong.entries()) {
      const { code, stderr } = await svc('verify', path, '--checkpoint', file(`wrong-${at}.txt`, text));
      expect([code, stderr], text).toEqual([3, expect.stringContaining('anchor_mismatch')]);
    }
    // With the key of now alone, a note from before a rotation is no sign of another log.
    const former = signingKeyFromSeed(new Uint8Array(32).fill(3));
    const { origin, root: kept } = verify(document).log!;
    const early = file('early.txt', signCheckpoint({ origin, size, root: Uint8Array.from(Buffer.from(kept, 'hex')) }, former));
    const given = ['verify', path, '--checkpoint', early, '--key', signer.publicKeyHex];
    const alien = await svc(...given);
    expect([alien.code, alien.stderr]).toEqual([
      3,
      expect.stringContaining('before a rotation, give the key of then with --key'),
    ]);
    expect((await svc(...given, '--key', former.publicKeyHex)).code).toBe(0);
    expect([readAnchor(''), readAnchor('old x\n')]).toEqual([null, null]);
    expect((await svc('verify', path, '--checkpoint', file('empty.txt', ''))).code).toBe(2);
  });
});
