import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { webhookHeaders } from '../../crypto/webhook-signature.js';
import { freePort } from '../../dev/ports.js';
import { eventually } from '../support/processes.js';
import { runSvc, type SvcOptions, type SvcResult } from './run-svc.js';

const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const body = '{"event":"step.approved","request_id":"8c1f0a34","actor":"otto","detail":null}';
const signed = (text: string, over: { secret?: string; now?: number } = {}) =>
  webhookHeaders({ event: 'step.approved', deliveryId: 'wd-1', now: Date.now(), body: text, secret, ...over });

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

interface Listening {
  port: number;
  ended: Promise<SvcResult>;
  interrupt(): void;
  stderr(): string;
}

/** Waits for the port that it chose. `json` says nothing at its start, so there the port is ours. */
async function listen(argv: readonly string[] = [], options: SvcOptions = {}): Promise<Listening> {
  let control: Parameters<NonNullable<SvcOptions['started']>>[0] | undefined;
  const ended = runSvc(['webhook', 'listen', '--port', '0', ...argv], {
    environment: { SVC_HOOK_SECRET: secret },
    ...options,
    started: (given) => {
      control = given;
    },
  });
  const port = () => /127\.0\.0\.1:(\d+)/.exec(control!.stderr())?.[1];
  await eventually(() => port() !== undefined);
  return { port: Number(port()), ended, interrupt: control!.interrupt, stderr: control!.stderr };
}

function post(port: number, text: string | Buffer, headers: Record<string, string>, method = 'POST'): Promise<number | string> {
  return new Promise((resolve) => {
    const call = request({ host: '127.0.0.1', port, method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    call.on('error', (error: NodeJS.ErrnoException) => resolve(error.code!));
    call.end(text);
  });
}

describe('svc webhook listen (CL-34)', () => {
  it('prints what to paste, then each delivery, and ends after --count', async () => {
    const { port, ended } = await listen(['--count', '2']);
    expect(await post(port, body, signed(body))).toBe(200);
    const user = '{"event":"user.created","request_id":null,"actor":"root"}';
    expect(await post(port, user, signed(user))).toBe(200);
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z {2}step\.approved {2}request 8c1f0a34 {2}by otto {2}verified$/,
      ),
      expect.stringMatching(/Z {2}user\.created {2}by root {2}verified$/),
      '',
    ]);
    expect(stderr).toMatch(/\nallow_private_networks = true\n\n\[\[webhooks\]\]\n/);
    expect(stderr).toContain(`url = "http://127.0.0.1:${port}/"\nsecret = "\${SVC_HOOK_SECRET}"\n`);
    expect(stderr).toContain('2 received, 2 verified');
    expect(stderr).not.toContain(secret.slice(6));
    expect(await post(port, body, signed(body))).toBe('ECONNREFUSED');
  });

  it('answers 401 to what is not signed, signed by another, changed, old or of the future, and says why', async () => {
    const { port, ended } = await listen(['--count', '5']);
    const now = Date.now();
    const cases: [Record<string, string>, string][] = [
      [signed(body, { secret: 'another-secret-of-16' }), 'signature does not match'],
      [webhookHeaders({ event: 'e', deliveryId: 'wd-1', now, body, secret: null }), 'not signed'],
      [{ ...signed(body), 'webhook-id': 'wd-2' }, 'signature does not match'],
      [signed(body, { now: now - 310_000 }), 'timestamp too old'],
      [signed(body, { now: now + 320_000 }), 'timestamp in the future'],
    ];
    for (const [headers] of cases) expect(await post(port, body, headers)).toBe(401);
    const { stdout, stderr } = await ended;
    expect(stdout.match(/not verified: .*/g)).toEqual(cases.map(([, why]) => `not verified: ${why}`));
    expect(stderr).toContain('5 received, 0 verified');
  });

  it('shows the escapes of a sender as text, and cuts what is long (CL-13)', async () => {
    const { port, ended } = await listen(['--count', '1'], { terminal: true });
    const hostile = JSON.stringify({ event: '\u001b]0;x\u0007\r\nfake', request_id: '\u202eabc', actor: 'a'.repeat(100_000) });
    expect(await post(port, hostile, { 'x-svc-event': 'x' })).toBe(401);
    const { stdout } = await ended;
    expect(stdout).toContain('\\u001b]0;x\\u0007\\r\\nfake');
    expect(stdout).toContain('request \\u{202e}abc');
    expect(stdout.length).toBeLessThan(400);
    // Its own colours are all that may steer the terminal.
    expect(stdout.replace(/\u001b\[\d+m/g, '')).toMatch(/^[\x20-\x7e]+\n$/);
  });

  it('prints one line of JSON for each delivery, the body as it came, then the usual one (CL-12)', async () => {
    const port = await freePort();
    const ended = runSvc(['webhook', 'listen', '--port', String(port), '--count', '3', '--json'], {
      environment: { SVC_HOOK_SECRET: secret },
    });
    const spread = '{"event":"a",\n"n":1.0}';
    for (;;) if ((await post(port, spread, signed(spread))) === 200) break;
    expect(await post(port, 'no JSON', signed('no JSON'))).toBe(200);
    expect(await post(port, Buffer.from([0xff, 0x0a]), {})).toBe(401);
    const lines = (await ended).stdout.trimEnd().split('\n');
    expect(lines[0]).toContain('"body":{"event":"a", "n":1.0}}');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { id: 'wd-1', event: 'a', request_id: null, actor: null, verified: true, fault: null },
      { event: 'step.approved', body: 'no JSON', verified: true },
      { id: null, event: null, body: '\ufffd\n', verified: false, fault: 'not signed' },
      { ok: true, data: { received: 3, verified: 2 } },
    ]);
  });

  it('reads no more than 2 MiB, and takes nothing but POST', async () => {
    const { port, ended, stderr, interrupt } = await listen();
    const most = `"${'x'.repeat(2 * 1024 * 1024 - 2)}"`;
    expect(await post(port, most, signed(most))).toBe(200);
    // The rest of the body may find the connection closed before the answer is read.
    expect([413, 'EPIPE', 'ECONNRESET']).toContain(await post(port, `${most} `, signed(`${most} `)));
    expect(await post(port, '', {}, 'GET')).toBe(405);
    await eventually(() => stderr().includes('not a POST'));
    interrupt();
    const result = await ended;
    expect(result.stderr).toContain('refused a call that is not a delivery: longer than 2 MiB');
    expect(result.stderr).toContain('1 received, 1 verified');
  });

  it('lets go of a sender that is too slow or speaks no HTTP, and takes deliveries meanwhile', async () => {
    const { port, ended, stderr } = await listen(['--count', '1'], { limits: { receiveMs: 300 } });
    const closed = ['POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nab', 'POST / HT', '\u0000\u001b[2J\r\n\r\n'].map(
      (text) =>
        new Promise((resolve) => {
          const socket = connect(port, '127.0.0.1', () => socket.write(text));
          socket.on('error', () => undefined).on('close', resolve);
        }),
    );
    await Promise.all(closed);
    await eventually(() => stderr().split('too slow').length > 2);
    expect(stderr()).toContain('not HTTP');
    expect(await post(port, body, signed(body))).toBe(200);
    expect((await ended).code).toBe(0);
  });

  it('ends well by Ctrl-C, and with 130 when --count were to come', async () => {
    const free = await listen();
    free.interrupt();
    expect(await free.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('0 received') });
    const counted = await listen(['--count', '1']);
    counted.interrupt();
    expect((await counted.ended).code).toBe(130);
  });

  it('says that the port is taken', async () => {
    const first = await listen();
    const argv = ['webhook', 'listen', '--port', String(first.port)];
    const { code, stderr } = await runSvc(argv, { environment: { SVC_HOOK_SECRET: secret } });
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot listen on this port (it is in use)')]);
    first.interrupt();
    await first.ended;
  });
});

describe('the secret of svc webhook listen (CL-02)', () => {
  it('comes from a variable that is named, or from a file', async () => {
    const { port, ended } = await listen(['--count', '1', '--secret-env', 'OTHER'], { environment: { OTHER: 'hook-key-1' } });
    expect(await post(port, body, signed(body, { secret: 'hook-key-1' }))).toBe(200);
    expect((await ended).stderr).toContain(`secret = "\${OTHER}"`);
    const folder = mkdtempSync(join(tmpdir(), 'listen-'));
    folders.push(folder);
    writeFileSync(join(folder, 'key'), `${secret}\n`);
    chmodSync(join(folder, 'key'), 0o644);
    const filed = await listen(['--count', '1', '--secret-file', 'key'], { directory: folder, environment: {} });
    expect(await post(filed.port, body, signed(body))).toBe(200);
    expect((await filed.ended).stderr).toContain('can be read by others');
  });

  it('is asked for when it is missing or malformed, and never repeated', async () => {
    const run = (argv: string[], environment = {}) => runSvc(['webhook', 'listen', '--json', ...argv], { environment });
    const cases = [
      await run([]),
      await run(['--secret-env', secret]),
      await run(['--secret-file', '/nonexistent/key']),
      await run([], { SVC_HOOK_SECRET: 'whsec_AAAA' }),
    ];
    for (const { code, stdout, stderr } of cases) {
      expect([code, JSON.parse(stdout).error.code]).toEqual([1, 'config_error']);
      expect(stdout + stderr).not.toMatch(/whsec_A/);
    }
    expect((await run(['--secret-env', 'A', '--secret-file', 'b'])).code).toBe(2);
  });
});
