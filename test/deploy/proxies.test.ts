import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Child, lastLines, startChild } from '../../dev/child.js';
import { clone } from '../../dev/layout.js';
import { freePort } from '../../dev/ports.js';
import { waitFor } from '../../dev/wait-for.js';
import { callsToml } from '../api/calls-toml.js';
import { type GatewayCalls, gatewayCalls } from '../api/gateway-calls.js';
import { mcpCalls } from '../api/mcp-calls.js';
import { untilWaiting } from '../api/until-waiting.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { createAuthority } from '../support/certificates.js';
import { noteLeftOut } from '../support/not-run.js';

const name = 'gateway.example.com';
const caller = '127.0.0.5';
const startWaitMs = 30_000;

interface Place {
  folder: string;
  /** The port of the proxy. */
  port: number;
  /** Where the server listens. */
  behind: string;
}

/** The file of `deploy/` with the addresses and certificates of a test; throws if it lacks one of them. */
function configuration(file: string, replaced: Record<string, string>): string {
  let config = readFileSync(join(clone, 'deploy', file), 'utf8');
  for (const [from, to] of Object.entries(replaced)) {
    expect(config).toContain(from);
    config = config.replaceAll(from, to);
  }
  return config;
}

function writeNginx({ folder, port, behind }: Place): string[] {
  const listen = { 'listen 443': `listen 127.0.0.1:${port}`, '127.0.0.1:3000': behind, '/etc/svc/tls': folder };
  writeFileSync(join(folder, 'svc.conf'), configuration('nginx/svc.conf', listen));
  const scratch = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`);
  const main = [
    // Started by root, its workers would run as a user who cannot enter the folder.
    process.getuid?.() === 0 ? 'user root;' : '',
    `daemon off; pid ${folder}/nginx.pid; error_log stderr; events {}`,
    `http { access_log off; ${scratch.join(' ')} include ${folder}/svc.conf; }`,
  ];
  writeFileSync(join(folder, 'nginx.conf'), main.join('\n'));
  return ['-e', 'stderr', '-c', join(folder, 'nginx.conf')];
}

function writeCaddy({ folder, port, behind }: Place): string[] {
  const site = configuration('caddy/Caddyfile', {
    [`\n${name} {`]: `\nhttps://${name}:${port} {\n\tbind 127.0.0.1`,
    '#tls /etc/svc/tls/cert.pem /etc/svc/tls/key.pem': `tls ${folder}/cert.pem ${folder}/key.pem`,
    '127.0.0.1:3000': behind,
  });
  writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`);
  return ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
}

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<'owner' | 'dba', string>;
beforeAll(async () => {
  api = await startTestApi({ toml: `trusted_proxies = ["127.0.0.1"]\n${callsToml}` });
  calls = gatewayCalls(api);
  tokens = await api.createUsers({ owner: { roles: ['requester'] }, dba: { groups: ['dba-team', 'leads'] } });
  await calls.poll(['shop/production']);
});
afterAll(() => api?.close());

describe.each([
  { program: 'nginx', version: '-v', write: writeNginx },
  { program: 'caddy', version: 'version', write: writeCaddy },
])('$program with the file of deploy/', ({ program, version, write }) => {
  const isThere = spawnSync(program, [version], { timeout: 10_000 }).status === 0;
  if (!isThere) noteLeftOut(import.meta.url, `${program} is not installed`);

  let child: Child | undefined;
  let port: number;
  let authority: string;
  beforeAll(async () => {
    if (!isThere) return;
    const folder = mkdtempSync(join(tmpdir(), 'svc-proxy-'));
    port = await freePort();
    const made = createAuthority(folder, 'test');
    made.issue(name, folder, null);
    authority = readFileSync(made.file, 'utf8');
    const args = write({ folder, port, behind: new URL(api.url).host });
    const environment = { PATH: process.env.PATH, HOME: folder };
    const running = startChild({
      name: program,
      file: program,
      args,
      environment,
      logFile: join(folder, 'proxy.log'),
      deathSignal: 'SIGKILL',
    });
    child = running;
    const isReady = async () => {
      if (running.hasExited()) throw new Error(lastLines(running.logFile, 20));
      return ask('GET', '/health').then(
        ({ status }) => status === 200,
        () => false,
      );
    };
    await waitFor(program, isReady, { ms: startWaitMs });
  });
  afterAll(() => child?.stop('SIGTERM', 5000));

  const open = (method: string, path: string, headers: Record<string, string> = {}, body = '', signal?: AbortSignal) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const where = { host: '127.0.0.1', port, servername: name, ca: authority, localAddress: caller, agent: false };
      const head = { host: name, ...(body === '' ? {} : { 'content-type': 'application/json' }), ...headers };
      request({ ...where, method, path, headers: head, signal }, resolve)
        .once('error', reject)
        .end(body);
    });
  const ask = async (...how: Parameters<typeof open>) => {
    const answer = await open(...how);
    return { status: answer.statusCode, body: await text(answer) };
  };
  const as = (token: string) => ({ authorization: `Bearer ${token}` });

  it.skipIf(!isThere)('tells the address of the caller, and not the one that the caller made up (OP-30)', async () => {
    const forged = { 'x-forwarded-for': '203.0.113.9' };
    const me = await ask('GET', '/api/me', { ...as(`svc_${'0'.repeat(32)}`), ...forged });
    expect(me.status).toBe(401);
    const seen = await api.services.database.query(
      `select peer_ip, client_ip, client_ip_source from audit_events where event_type = 'auth.failure' order by position desc limit 1`,
    );
    expect(seen).toEqual([{ peer_ip: '127.0.0.1', client_ip: caller, client_ip_source: 'xff' }]);
  });

  it.skipIf(!isThere)('leaves the limits of bodies to the server (HT-50)', async () => {
    const tooLong = JSON.stringify({ detail: 'x'.repeat(8 * 1024 * 1024) });
    const refused = await ask('POST', '/api/requests', as(tokens.owner), tooLong);
    expect(refused).toEqual({ status: 413, body: expect.stringContaining('payload.too_large') });
  });

  it.skipIf(!isThere)('answers a long poll when it is woken (HT-100)', async () => {
    const id = await calls.created(tokens.owner);
    const { answer } = await untilWaiting(api, () => ask('GET', `/api/requests/${id}?wait=60`, as(tokens.owner)));
    await calls.act(tokens.dba, id, 'approve');
    expect(JSON.parse((await answer).body)).toMatchObject({ id, status: 'approved' });
  });

  it.skipIf(!isThere)('ends the wait of a caller who has left', async () => {
    const id = await calls.created(tokens.owner);
    const waits = async () =>
      (await api.services.metrics.longPolls.get()).values.find(({ labels }) => labels.kind === 'request')?.value;
    const before = await waits();
    const leaving = new AbortController();
    const { answer } = await untilWaiting(api, () =>
      open('GET', `/api/requests/${id}?wait=60`, as(tokens.owner), '', leaving.signal),
    );
    leaving.abort();
    await expect(answer).rejects.toThrow('abort');
    await expect.poll(waits, { timeout: 10_000 }).toBe(before ?? 0);
  });

  it.skipIf(!isThere)('passes on each event of a stream as it comes (MC-22)', async () => {
    const id = await calls.created(tokens.owner);
    const session = await mcpCalls(api, tokens.owner).open();
    const params = { name: 'svc_wait_request', arguments: { request_id: id, timeout: 60, include_result: false } };
    const headers = { ...as(tokens.owner), ...session, accept: 'application/json, text/event-stream' };
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const stream = await open('POST', '/mcp', headers, call);
    const parts = stream.setEncoding('utf8')[Symbol.asyncIterator]();
    // Nothing ends the call before this first event has come through.
    expect((await parts.next()).value).toMatch(/^id: \S+:0\n/);
    await calls.act(tokens.dba, id, 'approve');
    let rest = '';
    for (let part = await parts.next(); !part.done; part = await parts.next()) rest += part.value;
    expect(rest).toContain('"status":"approved"');
  });
});
