import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertAuditEvents } from '../../db/audit.js';
import type { AuditType } from '../../domain/audit/catalogue.js';
import { systemActor } from '../../domain/audit/draft.js';
import { type ExportFormat, exportForms } from '../../domain/audit/export-format.js';
import { exportText } from '../../domain/audit/signed-texts.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';
import { auditKey, chainOf, strangerKey } from '../support/audit-chain.js';
import { share } from '../support/share.js';
import { login, runSvc } from './run-svc.js';

const hostile = ['=1+1', "'=1", '@x', '\tx', '"quoted", and\r\nbroken', 'a\u2028b\u0085c', '🚫', '-', "'+", 'plain'];

let api: TestApi;
let directory: string;
let publicKey: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-audit-'));
  api = await startTestApi({ toml: shopToml });
  await write(hostile);
  await write(Array.from({ length: 110 }, (_, at) => `n${at}`));
  await sealAll(api);
  const [row] = await api.services.database.query<{ key: string }>(
    `select public_key as key from signing_keys where purpose = 'audit'`,
  );
  publicKey = row!.key;
});
afterAll(async () => {
  await api?.close();
  await rm(directory, { recursive: true, force: true });
});

const write = (reasons: readonly string[], type: AuditType = 'request.rejected') =>
  api.services.database.transaction((tx) =>
    insertAuditEvents(
      tx,
      reasons.map((reason) => ({
        type,
        outcome: 'denied',
        actor: systemActor,
        resourceType: null,
        resourceId: null,
        reason,
        metadata: { comment: reason },
      })),
    ),
  );

const svc = (...argv: string[]) => runSvc(argv, { environment: { ...login(api.url), SVC_TOKEN: api.tokens.admin }, directory });
/** Knows no server and has no configuration. */
const alone = (...argv: string[]) => runSvc(argv, { directory });
const anchorOf = (stdout: string) => /anchor to keep\s+(\S+)/.exec(stdout)![1]!;

describe('svc audit verify (CL-32)', () => {
  it('shows counts, and an anchor that holds the next time', async () => {
    // Exports are events too.
    await sealAll(api);
    const first = await svc('audit', 'verify');
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toMatch(
      /^log +valid\nsealed events +1\d\d\nnot sealed yet +0\ncheckpoints +[1-9]\nanchor to keep +1\d\d:[0-9a-f]{64}\n$/,
    );
    const anchor = anchorOf(first.stdout);
    expect(await svc('audit', 'verify', '--anchor', anchor)).toMatchObject({ code: 0, stdout: first.stdout });
    expect(await svc('audit', '--verify')).toMatchObject({ code: 0, stdout: first.stdout });
    const { data } = JSON.parse((await svc('audit', 'verify', '--json')).stdout);
    expect(`${data.head_seq}:${data.head_hash}`).toBe(anchor);
  });

  it('compares the log with a checkpoint that was kept, alone or behind its proof', async () => {
    await sealAll(api);
    const { text } = await api.call('GET', '/api/audit/checkpoint', { token: api.tokens.admin });
    const file = async (name: string, content: string) => {
      await writeFile(join(directory, name), content);
      return name;
    };
    const [origin, size, root] = text.split('\n');
    for (const kept of [text, `old 3\n${root}\n\n${text}`])
      expect(await svc('audit', 'verify', '--checkpoint', await file('kept', kept))).toMatchObject({ code: 0 });
    const other = [origin, size, Buffer.alloc(32, 7).toString('base64'), ''].join('\n');
    const result = await svc('audit', 'verify', '--checkpoint', await file('other', other));
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toContain('anchor_mismatch');
    for (const no of ['', 'old 3\nx', `${origin}\n0\n${root}\n`, `${origin}\n${size}`, '\xff'])
      expect(await svc('audit', 'verify', '--checkpoint', await file('no', no))).toMatchObject({ code: 2 });
    expect(await svc('audit', 'verify', '--checkpoint', 'missing')).toMatchObject({ code: 2 });
    expect(await alone('audit', 'verify', '--checkpoint', 'kept', '--file', 'kept')).toMatchObject({ code: 2 });
  });

  it('warns when events have waited long for their seal', async () => {
    await sealAll(api);
    expect((await svc('audit', 'verify')).stderr).not.toContain('warning');
    // An export is an event too.
    await svc('audit', 'export', '--user', 'nobody');
    expect((await svc('audit', 'verify')).stderr).not.toContain('warning');
    await tamper(api, `update audit_events set created_at = '2020-01-01T00:00:00.000000Z' where seq is null`);
    const result = await svc('audit', 'verify');
    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('events wait for their seal since 2020-01-01T00:00:00.000000Z');
  });

  it('says what is wrong and where: exit 1, integrity_violation', async () => {
    const result = await svc('audit', 'verify', '--anchor', `2:${'f'.repeat(64)}`);
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toContain('anchor_mismatch at first_broken_seq 2, first_broken_id ');
    await tamper(api, 'create table saved as table audit_events', `update audit_events set reason = 'x' where seq = 9`);
    try {
      const { ok, data, error } = JSON.parse((await svc('audit', 'verify', '--format', 'quiet')).stdout);
      expect({ ok, ...data }).toMatchObject({ ok: false, valid: false, reason: 'hash_mismatch', first_broken_seq: 9 });
      expect(error.code).toBe('integrity_violation');
    } finally {
      await tamper(
        api,
        'update audit_events e set reason = s.reason from saved s where s.seq = 9 and e.seq = 9',
        'drop table saved',
      );
    }
  });

  it('refuses a malformed anchor, and keys for a server that has its own', async () => {
    for (const words of [
      ['--anchor', '5'],
      ['--anchor', '0:ff'],
      ['--public-key', 'f'.repeat(64)],
      ['--public-key', 'x', '--file', 'y'],
    ])
      expect(await svc('audit', 'verify', ...words)).toMatchObject({ code: 2 });
  });
});

describe('svc audit export', () => {
  it('writes lines to stdout, or a file that only its owner reads', async () => {
    const shown = await svc('audit', 'export', '--event-type', 'request.rejected');
    expect(shown.code).toBe(0);
    const written = await svc('audit', 'export', '--event-type', 'request.rejected', '--output', 'out.ndjson');
    expect(written).toMatchObject({ code: 0, stdout: '' });
    expect(written.stderr).toContain('120 events written to out.ndjson');
    expect(await readFile(join(directory, 'out.ndjson'), 'utf8')).toBe(shown.stdout);
    expect((await stat(join(directory, 'out.ndjson'))).mode & 0o777).toBe(0o600);
    const told = JSON.parse((await svc('audit', 'export', '--output', 'all.ndjson', '--json')).stdout);
    expect(told.data).toMatchObject({ output: 'all.ndjson', manifest: { filters: {}, public_key: publicKey } });
  });

  it.each(['csv', 'ndjson'])('shows on a terminal, as %s, what could steer it (CL-13)', async (as) => {
    const steering = '\u001b]0;gone\u0007 \u009b2J \u202e \u200b';
    await write([steering], 'request.expired');
    await sealAll(api);
    const argv = ['audit', 'export', '--event-type', 'request.expired', '--as', as];
    const environment = { ...login(api.url), SVC_TOKEN: api.tokens.admin };
    const { code, stdout } = await runSvc(argv, { environment, directory, terminal: true });
    expect(code).toBe(0);
    for (const character of new Set(steering.replace(/[ -~]/g, ''))) expect(stdout).not.toContain(character);
    expect(stdout).toMatch(/\\u001b\]0;gone\\u0007/);
    if (as === 'ndjson')
      expect(stdout.split('\n').some((line) => line !== '' && JSON.parse(line).reason === steering)).toBe(true);
    const plain = (await svc(...argv)).stdout;
    expect(plain.split('\n').length).toBe(stdout.split('\n').length);
  });

  it('prints no lines where one is promised', async () => {
    expect(await svc('audit', 'export', '--json')).toMatchObject({ code: 2 });
    expect(await svc('audit', 'export', '--as', 'xml')).toMatchObject({ code: 2 });
  });

  it.each([
    ['no such file or folder', 'no-folder/out.ndjson'],
    ['a file stands where a folder should be', 'a-file/out.ndjson'],
  ])('says of a file that cannot be written that it is the file, before anything is sent: %s (CL-17)', async (reason, output) => {
    await writeFile(join(directory, 'a-file'), '');
    const away = { environment: login('http://127.0.0.1:1'), directory };
    const { code, stderr } = await runSvc(['audit', 'export', '--output', output], away);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `error: audit export: --output ${output} cannot be written (${reason}); nothing was sent\n`,
    });
  });

  it('says of a file that cannot be written later that it is the file, not the server', async () => {
    const name = 'x'.repeat(254);
    const { code, stderr } = await svc('audit', 'export', '--output', name);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `error: audit export: ${join(directory, name)} cannot be written (the name is too long)\n`,
    });
  });

  it('writes into a file that a shell has opened (CL-17)', async () => {
    const file = openSync(join(directory, 'opened'), 'a');
    try {
      expect(await svc('audit', 'export', '--output', `/dev/fd/${file}`)).toMatchObject({ code: 0 });
    } finally {
      closeSync(file);
    }
    expect(await readFile(join(directory, 'opened'), 'utf8')).toMatch(/manifest/);
  });

  it('leaves no file when the server refuses or the export breaks off', async () => {
    expect(await svc('audit', 'export', '--until', '2031-13-01', '--output', 'no.ndjson')).toMatchObject({ code: 2 });
    const { database } = api.services;
    const original = database.query;
    database.query = async (text, values) => {
      if (text.includes('limit 250')) throw new Error('away');
      return original(text, values);
    };
    try {
      const result = await svc('audit', 'export', '--as', 'csv', '--output', 'no.ndjson');
      expect(result).toMatchObject({ code: 1 });
      expect(result.stderr).toMatch(/^error: audit export: /);
    } finally {
      database.query = original;
    }
    expect((await readdir(directory)).filter((name) => name.startsWith('no.ndjson'))).toEqual([]);
  });
});

describe('svc audit verify --file (CL-33)', () => {
  const exported = async (name: string, ...words: string[]) => {
    expect(await svc('audit', 'export', '--output', name, ...words)).toMatchObject({ code: 0 });
    return readFile(join(directory, name), 'utf8');
  };
  const verifyText = async (text: string | Uint8Array, ...words: string[]) => {
    await writeFile(join(directory, 'given'), text);
    return alone('audit', 'verify', '--file', 'given', ...words);
  };
  const reportOf = async (text: string | Uint8Array, ...words: string[]) =>
    JSON.parse((await verifyText(text, ...words, '--json')).stdout).data;

  for (const as of ['ndjson', 'csv'])
    it(`a whole export as ${as} holds, with the gateway's key and without any server`, async () => {
      const text = await exported('whole', '--as', as);
      const result = await verifyText(text, '--public-key', publicKey);
      expect(result).toMatchObject({ code: 0, stderr: '' });
      expect(result.stdout).toMatch(
        /^export +valid\nevents +\d+, seq 1 to \d+ \(no gaps, from the first event on\)\ncheckpoints +1\nsigned by +[0-9a-f]{16}\n$/,
      );
      expect((await verifyText(text)).stderr).toContain("the key is the export's own");
      expect(await reportOf(text, '--public-key', strangerKey.publicKeyHex)).toMatchObject({
        valid: false,
        reason: 'checkpoint_signature_invalid',
      });
    });

  it('an anchor holds, is broken, or is not in the export', async () => {
    const text = await exported('anchored');
    const [seq, hash] = anchorOf((await svc('audit', 'verify')).stdout).split(':');
    expect(await reportOf(text, '--anchor', `9:${JSON.parse(text.split('\n')[8]!).event_hash}`)).toMatchObject({
      valid: true,
      anchor: 'holds',
    });
    expect(await reportOf(text, '--anchor', `9:${hash}`)).toMatchObject({
      valid: false,
      reason: 'anchor_mismatch',
      line: 9,
      first_broken_seq: 9,
    });
    expect(await reportOf(text, '--anchor', `${Number(seq) + 9}:${hash}`)).toMatchObject({
      valid: true,
      anchor: 'not_in_export',
    });
  });

  it('an export with filters has gaps: it holds, and says what is not proved', async () => {
    const text = await exported('some', '--category', 'approval');
    const result = await verifyText(text, '--public-key', publicKey);
    expect(result.code).toBe(0);
    expect(result.stderr).toContain('That no other event was exchanged or left out is not proved');
    const lines = text.split('\n');
    const shorter = await reportOf(lines.toSpliced(5, 1).join('\n'), '--public-key', publicKey);
    expect(shorter).toMatchObject({ valid: false, reason: 'manifest_mismatch' });
    const other = text.replace('"filters":{"event_category":"approval"}', '"filters":{"event_category":"approvam"}');
    expect(await reportOf(other)).toMatchObject({ valid: false, reason: 'filter_mismatch', line: 1 });
  });

  it('calls no whole export broken because it comes through a pipe', async () => {
    execFileSync('mkfifo', [join(directory, 'pipe')]);
    expect(await alone('audit', 'verify', '--file', 'pipe')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('pipe is a pipe, and an export is read twice'),
    });
  });

  it('an export without events holds', async () => {
    const text = await exported('none', '--user', 'nobody');
    expect(await reportOf(text, '--public-key', publicKey)).toMatchObject({ valid: true, events: 0, begins: null });
    expect((await alone('audit', 'verify', '--file', 'missing')).stderr).toContain(
      'missing cannot be read (no such file or folder)',
    );
  });

  it('an export without events, or with filters but without gaps, says that its filters are not signed', async () => {
    const notSigned = 'what was asked for is not signed: that no other event fits the filters is not proved';
    const none = await exported('silent', '--user', 'nobody');
    const pretended = none.replace('"filters":{"actor_id":"nobody"}', '"filters":{"actor_id":"admin"}');
    expect(pretended).not.toBe(none);
    for (const text of [none, pretended, none.replace('{"actor_id":"nobody"}', '{}')])
      expect((await verifyText(text, '--public-key', publicKey)).stderr).toContain(notSigned);

    const whole = made('ndjson');
    const filtered = whole.replace('"filters":{}', '"filters":{"since":"2000-01-01T00:00:00.000000Z"}');
    expect((await verifyText(whole, '--public-key', auditKey.publicKeyHex)).stderr).toBe('');
    expect((await verifyText(filtered, '--public-key', auditKey.publicKeyHex)).stderr).toContain(notSigned);
  });

  it('names what is wrong, and its line', async () => {
    const text = await exported('wrong');
    const lines = text.split('\n');
    const event = (at: number) => JSON.parse(lines[at]!);
    const cases: [string, string, object][] = [
      [
        'a line taken out',
        lines.toSpliced(3, 1).join('\n'),
        { reason: 'sequence_gap', first_broken_seq: 5, first_broken_id: event(4).id },
      ],
      [
        'two swapped',
        lines.toSpliced(3, 2, lines[4]!, lines[3]!).join('\n'),
        { reason: 'sequence_gap', line: 5, first_broken_seq: 4 },
      ],
      ['one changed', text.replace('"reason":"n5"', '"reason":"n6"'), { reason: 'hash_mismatch' }],
      ['the tail cut off', [...lines.slice(0, 20), ...lines.slice(-2)].join('\n'), { reason: 'manifest_mismatch' }],
      ['no manifest', lines.slice(0, 20).join('\n'), { reason: 'manifest_missing' }],
      ['half a manifest', text.slice(0, -9), { reason: 'manifest_malformed' }],
      ['something behind it', `${text}\n`, { reason: 'manifest_missing' }],
      ['blanks in a line', text.replace('{"id":', '{ "id":'), { reason: 'line_malformed', line: 1 }],
      ['Windows line ends', text.replaceAll('\n', '\r\n'), { reason: 'manifest_malformed' }],
      ['nothing', '', { reason: 'manifest_missing' }],
    ];
    for (const [name, changed, expected] of cases)
      expect([name, await reportOf(changed, '--public-key', publicKey)]).toMatchObject([name, { valid: false, ...expected }]);
    const { code, stderr } = await verifyText(cases[0]![1]);
    expect(code).toBe(1);
    expect(stderr).toContain(`given is not valid: sequence_gap at seq 5, id ${event(4).id}`);
  });

  for (const format of ['ndjson', 'csv'] as const)
    it(`reports every change of a byte, as ${format} (CL-I9)`, async () => {
      const bytes = Buffer.from(made(format));
      expect(await reportOf(bytes, '--public-key', auditKey.publicKeyHex)).toMatchObject({
        valid: true,
        events: 3,
        checkpoints_verified: 1,
      });
      const passed: number[] = [];
      for (let at = 0; at < bytes.length; at += share(5, 1)) {
        const changed = Uint8Array.from(bytes);
        changed[at] = changed[at]! ^ (1 << (at % 7));
        if ((await verifyText(changed, '--public-key', auditKey.publicKeyHex)).code !== 1) passed.push(at);
      }
      expect(passed).toEqual([]);
    }, 240_000);
});

/** A small whole export. */
function made(format: ExportFormat): string {
  const events = chainOf([{ reason: "'=1" }, { reason: '=2' }, null]);
  const [first, last] = [events[0]!, events.at(-1)!];
  const stated = { firstSeq: first.seq, lastSeq: last.seq, count: events.length, lastHash: last.event_hash };
  const form = exportForms[format];
  const manifest = form.manifest({
    first_seq: stated.firstSeq,
    last_seq: stated.lastSeq,
    count: stated.count,
    last_hash: stated.lastHash,
    filters: {},
    public_key: auditKey.publicKeyHex,
    key_id: auditKey.keyId,
    signature: auditKey.sign(Buffer.from(exportText(stated))),
  });
  return form.header + events.map(form.line).join('') + manifest;
}
