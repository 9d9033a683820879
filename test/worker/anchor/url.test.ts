import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../dev/ports.js';
import { urlAnchor } from '../../../worker/anchor/url.js';

const note = 'svc\n101\nAAAA\n\n— svc sig\n';
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Heard {
  method: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
  path: string | undefined;
}

/** A server that answers each call like this, and the calls that it got. */
async function serve(answer: (response: ServerResponse, request: IncomingMessage) => void) {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    heard.push({ method: request.method, headers: request.headers, body, path: request.url });
    answer(response, request);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/checkpoints?log=1`, heard };
}

const give = (url: string, { token = null as string | null, timeoutMs = 5000, signal = new AbortController().signal } = {}) =>
  urlAnchor({ url, token, timeoutMs })(note, signal);

describe('an anchor that is an address (AU-91)', () => {
  it('gets the note as a text with the token, and its answer is kept byte for byte', async () => {
    const bytes = Uint8Array.of(0, 255, 10, 13);
    const { url, heard } = await serve((response) => response.writeHead(201).end(bytes));
    expect(await give(url, { token: 'secret-token' })).toEqual({ kind: 'anchored', answer: bytes, isTruncated: false });
    expect(heard).toMatchObject([{ method: 'POST', body: note, path: '/checkpoints?log=1' }]);
    expect(heard[0]!.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      authorization: 'Bearer secret-token',
      'accept-encoding': 'identity',
    });
    await give(url);
    expect(heard[1]!.headers.authorization).toBeUndefined();
  });

  it('may answer nothing', async () => {
    const { url } = await serve((response) => response.writeHead(204).end());
    expect(await give(url)).toEqual({ kind: 'anchored', answer: new Uint8Array(0), isTruncated: false });
  });

  it('is not followed elsewhere, and the token goes nowhere else', async () => {
    const elsewhere = await serve((response) => response.end('caught'));
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await serve((response) => response.writeHead(status, { location: elsewhere.url }).end());
      expect(await give(url, { token: 't' })).toMatchObject({ kind: 'failed', reason: `status_${status}` });
    }
    expect(elsewhere.heard).toEqual([]);
  });

  it('has failed with any other status', async () => {
    for (const status of [400, 401, 404, 429, 500, 503]) {
      const { url } = await serve((response) => response.writeHead(status).end('secret text'));
      expect(await give(url)).toEqual({ kind: 'failed', reason: `status_${status}`, detail: '' });
    }
  });

  it('may answer 10 MB, of which 64 KiB are kept and no more is read', async () => {
    let sent = 0;
    const part = Buffer.alloc(65_536, 7);
    const { url } = await serve((response) => {
      const more = () => {
        while (sent < 160 * part.length && !response.destroyed) {
          sent += part.length;
          if (!response.write(part)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    const outcome = await give(url);
    expect(outcome).toMatchObject({ kind: 'anchored', isTruncated: true });
    expect(outcome.kind === 'anchored' && outcome.answer.length).toBe(65_536);
    expect(sent).toBeLessThan(160 * part.length);
  });

  it('that hangs, before or in its answer, is given up after its time', async () => {
    const silent = createTcpServer(() => {});
    await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
    closing.push(() => silent.close());
    expect(await give(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/`, { timeoutMs: 200 })).toMatchObject({
      reason: 'timeout',
    });
    const { url } = await serve((response) => void response.writeHead(200).write('some'));
    expect(await give(url, { timeoutMs: 200 })).toMatchObject({ reason: 'timeout' });
    const { url: drips } = await serve((response) => {
      const dripping = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(dripping));
    });
    expect(await give(drips, { timeoutMs: 300 })).toMatchObject({ reason: 'timeout' });
  });

  it('that refuses, breaks off or speaks something else has failed', async () => {
    expect(await give(`http://127.0.0.1:${await freePort()}/`)).toMatchObject({ reason: 'connection_refused' });
    const { url } = await serve((response) => {
      response.writeHead(200, { 'content-length': 10 }).write('half');
      setTimeout(() => response.destroy(), 20);
    });
    expect(await give(url)).toMatchObject({ reason: 'answer_broke_off' });
    const garbage = createTcpServer((socket) => socket.end('SSH-2.0-x\r\n'));
    await new Promise<void>((resolve) => void garbage.listen(0, '127.0.0.1', resolve));
    closing.push(() => garbage.close());
    expect(await give(`http://127.0.0.1:${(garbage.address() as AddressInfo).port}/`)).toMatchObject({
      reason: expect.stringMatching(/^hpe_/),
    });
    expect(await give('http://nowhere.invalid/')).toMatchObject({ reason: 'dns_error' });
  });

  it('that answers with another protocol has failed', async () => {
    const switching = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nmore'),
      );
    });
    await new Promise<void>((resolve) => void switching.listen(0, '127.0.0.1', resolve));
    closing.push(() => switching.close());
    expect(await give(`http://127.0.0.1:${(switching.address() as AddressInfo).port}/`)).toMatchObject({ reason: 'status_101' });
  });

  it('is no link-local or metadata address', async () => {
    for (const address of ['http://169.254.169.254/', 'http://[fe80::1]/', 'http://[::ffff:169.254.169.254]/'])
      expect(await give(address)).toMatchObject({ kind: 'failed', reason: 'address_not_allowed' });
  });

  it('is left when the worker stops', async () => {
    const stopping = new AbortController();
    const { url, heard } = await serve(() => stopping.abort());
    expect(await give(url, { signal: stopping.signal })).toMatchObject({ reason: 'stopped' });
    expect(await give(url, { signal: stopping.signal })).toMatchObject({ reason: 'stopped' });
    expect(heard).toHaveLength(1);
  });
});
