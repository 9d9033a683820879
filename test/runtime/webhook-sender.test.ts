import type { Socket } from 'node:net';
import { createGzip } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { sendWebhook } from '../../runtime/webhook-sender.js';
import { openReceiver, openTcpReceiver, send } from '../support/receiver.js';

const networkError = { delivered: false, error: 'network error', status: null, retryAfter: null };
const timeout = { ...networkError, error: 'timeout' };

describe('an attempt (NT-30)', () => {
  it('posts the exact bytes with the given headers, on a connection that it closes', async () => {
    const { received, port } = await openReceiver();
    const body = '{"event":"user.created","detail":"Grüße 🎉"}';
    const headers = { 'content-type': 'application/json', 'webhook-id': 'wd-1', 'x-svc-event': 'user.created' };
    const url = `http://127.0.0.1:${port}/a%20b/c?d=e&f`;
    expect(await send(port, { url, headers, body })).toEqual({ delivered: true, status: 200 });
    expect(received).toMatchObject([{ method: 'POST', path: '/a%20b/c?d=e&f', body, headers }]);
    expect(received[0]?.headers).toMatchObject({ connection: 'close', host: `127.0.0.1:${port}` });
    expect(received[0]?.headers['content-length']).toBe(String(Buffer.byteLength(body)));
  });

  it.each([200, 202, 204, 299])('is delivered by status %i', async (status) => {
    const { port } = await openReceiver((_request, response) => void response.writeHead(status).end());
    expect(await send(port)).toEqual({ delivered: true, status });
  });

  it.each([300, 304, 400, 404, 410, 500, 599])('fails with status %i', async (status) => {
    const { port } = await openReceiver((_request, response) => void response.writeHead(status).end());
    expect(await send(port)).toEqual({ delivered: false, error: `status ${status}`, status, retryAfter: null });
  });

  it('NT-53: tells a short class, no text of the answer, and what Retry-After says, unless it is too long to be a date', async () => {
    const { port } = await openReceiver((request, response) => {
      response.writeHead(503, { 'retry-after': request.url === '/long' ? '1'.repeat(5000) : 'Fri, 31 Dec 2032 23:59:59 GMT' });
      response.end('the secret of the answer');
    });
    const told = { delivered: false, error: 'status 503', status: 503 };
    expect(await send(port)).toEqual({ ...told, retryAfter: 'Fri, 31 Dec 2032 23:59:59 GMT' });
    expect(await send(port, { url: `http://127.0.0.1:${port}/long` })).toEqual({ ...told, retryAfter: null });
  });

  it.each([301, 302, 303, 307, 308])('follows no redirect: %i', async (status) => {
    const inside = await openReceiver();
    const { port } = await openReceiver((_request, response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${inside.port}/` }).end();
    });
    expect(await send(port)).toMatchObject({ delivered: false, error: `status ${status}`, status });
    expect(inside.received).toEqual([]);
  });

  it('does not switch protocols', async () => {
    const { port } = await openTcpReceiver((socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    });
    expect(await send(port)).toMatchObject({ delivered: false, error: 'status 101', status: 101 });
  });

  it('leaves the proxies of the environment aside', async () => {
    const proxy = await openReceiver();
    const { received, port } = await openReceiver();
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'all_proxy', 'NODE_USE_ENV_PROXY'];
    const before = { ...process.env };
    for (const name of names) process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${proxy.port}`;
    try {
      expect(await send(port)).toEqual({ delivered: true, status: 200 });
    } finally {
      for (const name of names) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
    expect([received.length, proxy.received.length]).toEqual([1, 0]);
  });

  it('sends nothing with a header that would start another one', async () => {
    const { seen, port } = await openTcpReceiver();
    const bad = ['wd-1\r\nx-admin: yes', 'wd-1\nx', 'wd-1\0', 'wd-\u{1f389}'];
    for (const id of bad) expect(await send(port, { headers: { 'webhook-id': id } })).toEqual(networkError);
    expect(await send(port, { headers: { 'a\r\nb': 'c' } })).toEqual(networkError);
    expect(seen.connections).toBe(0);
  });

  it('NT-40: goes to no address with credentials, with a fragment, of another scheme, or that is none', async () => {
    const { seen, port } = await openTcpReceiver();
    const host = `127.0.0.1:${port}`;
    for (const url of [
      `http://me:pw@${host}/`,
      `http://me@${host}/`,
      `http://${host}/#x`,
      `ftp://${host}/`,
      host,
      '',
      'http://',
    ]) {
      expect(await send(port, { url })).toEqual({ ...networkError, error: 'address not allowed' });
    }
    expect(seen.connections).toBe(0);
  });
});

describe('an answer (NT-30)', () => {
  it('of any length is cut off, and its status counts', async () => {
    let written = 0;
    const { port } = await openReceiver((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) written += 65_536;
      };
      response.on('drain', more).on('error', () => {});
      more();
    });
    expect(await send(port, {}, { timeoutMs: 60_000 })).toEqual({ delivered: true, status: 200 });
    // What the system's buffers hold is written, but not read.
    expect(written).toBeLessThan(10_000_000);
  });

  it('of 200 whose body never ends counts as delivered when the time is over', async () => {
    const { port } = await openReceiver((_request, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    });
    expect(await send(port, {}, { timeoutMs: 300 })).toEqual({ delivered: true, status: 200 });
  });

  it('of 200 whose body breaks off counts as delivered', async () => {
    const { port } = await openReceiver((_request, response) => {
      response.writeHead(200, { 'content-length': 1000 }).write('x', () => setTimeout(() => response.destroy(), 20));
    });
    expect(await send(port)).toEqual({ delivered: true, status: 200 });
  });

  it('that is compressed is not unpacked', async () => {
    const bomb = createGzip({ level: 9 });
    bomb.end(Buffer.alloc(50_000_000));
    const packed = Buffer.concat(await bomb.toArray());
    const { port } = await openReceiver(
      (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
    );
    const before = process.memoryUsage().arrayBuffers;
    expect(await send(port)).toEqual({ delivered: true, status: 200 });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5_000_000);
  });

  it.each([
    ['has headers without end', `HTTP/1.1 200 OK\r\n${'x-filler: 0123456789\r\n'.repeat(5000)}`],
    ['is no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['is of HTTP/0.9', '<html>fine</html>'],
    ['is of two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n'],
  ])('that %s is a network error', async (_name, answer) => {
    const { port } = await openTcpReceiver((socket) => void socket.write(answer));
    expect(await send(port)).toEqual(networkError);
  });

  it('before which others come is the last one', async () => {
    const { port } = await openTcpReceiver((socket) => {
      socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n');
      socket.end('HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n');
    });
    expect(await send(port)).toMatchObject({ error: 'status 500' });
  });
});

describe('a receiver (NT-30)', () => {
  it('that listens no more refuses the connection', async () => {
    expect(await send(1)).toEqual({ ...networkError, error: 'connection refused' });
  });

  it.each([
    ['resets the connection', (socket: Socket) => void socket.resetAndDestroy()],
    ['resets it after the request', (socket: Socket) => void socket.on('data', () => socket.resetAndDestroy())],
    ['closes it without a word', (socket: Socket) => void socket.end()],
    ['closes it within the headers', (socket: Socket) => void socket.end('HTTP/1.1 200 OK\r\nx-a: b\r\n')],
  ])('that %s is a network error', async (_name, onConnection) => {
    const { port } = await openTcpReceiver(onConnection);
    expect(await send(port)).toEqual(networkError);
  });

  it.each([
    ['says nothing', () => {}],
    ['sends its headers byte by byte', trickle('HTTP/1.1 200 OK\r\n', 'x-a: b\r\n')],
    ['sends one early answer after the other', trickle('', 'HTTP/1.1 102 Processing\r\n\r\n')],
    ['reads nothing', (socket: Socket) => void socket.pause()],
  ])('that %s runs into the timeout', async (_name, onConnection) => {
    const { port } = await openTcpReceiver(onConnection);
    expect(await send(port, { body: 'x'.repeat(8_000_000) }, { timeoutMs: 300 })).toEqual(timeout);
  });

  it('has ten seconds', { timeout: 20_000 }, async () => {
    const { port } = await openReceiver((_request, response) => void setTimeout(() => response.end(), 11_000));
    const startedAt = performance.now();
    const request = { url: `http://127.0.0.1:${port}/`, headers: {}, body: '{}', allowPrivateNetworks: true };
    expect(await sendWebhook(request)).toEqual(timeout);
    expect(performance.now() - startedAt).toBeGreaterThan(9900);
  });
});

describe('the signal', () => {
  it('ends an attempt at once, before and during it', async () => {
    const { port, seen } = await openTcpReceiver();
    expect(await send(port, { signal: AbortSignal.abort() })).toEqual(networkError);
    const stop = new AbortController();
    const attempt = send(port, { signal: stop.signal });
    setTimeout(() => stop.abort(), 100);
    expect(await attempt).toEqual(networkError);
    expect(seen.connections).toBe(1);
  });

  it('leaves a status that was told as it is', async () => {
    const stop = new AbortController();
    const { port } = await openReceiver((_request, response) => {
      response.writeHead(200).write('x', () => setTimeout(() => stop.abort(), 50));
    });
    expect(await send(port, { signal: stop.signal })).toEqual({ delivered: true, status: 200 });
  });
});

function trickle(first: string, again: string) {
  return (socket: Socket) => {
    socket.write(first);
    const timer = setInterval(() => socket.write(again), 20);
    socket.on('close', () => clearInterval(timer));
  };
}
