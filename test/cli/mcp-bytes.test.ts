import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventReader } from '../../cli/mcp/events.js';
import { startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';

/** Texts that change when they are parsed and written again. */
const odd = '"big":12345678901234567890.50,"twice":1,"twice":2,"esc":"\\u0041\\/ü😀\\u2028", "gap" :  [ 1 ,2 ]';
const request = `{ "params":{"name":"svc_x","arguments":{${odd}}},"id":7 , "method":"tools/call","jsonrpc":"2.0"}`;
const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{${odd}}}`;
const answer = `{"result":{${odd}},"jsonrpc":"2.0", "id":7}`;
const initialize = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}';

let server: Server;
const bodies: string[] = [];
const resumed: (string | undefined)[] = [];
beforeAll(async () => {
  server = createServer((call, response) => void serve(call, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => void server.close());

/** The first connection breaks in the middle of a character of the second event; the resumed one has it again. */
async function serve(call: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const part of call.setEncoding('utf8')) body += part;
  const stream = { 'content-type': 'text/event-stream' };
  if (call.method === 'GET') {
    resumed.push(call.headers['last-event-id'] as string | undefined);
    return void response.writeHead(200, stream).end(`: life\n\nid: s:2\r\ndata: ${answer}\r\n\r\n`);
  }
  if (call.method === 'DELETE') return void response.end();
  bodies.push(body);
  if (body.includes('"ping"')) return void response.end('{}');
  if (body === initialize)
    return void response
      .writeHead(200, { 'mcp-session-id': 's', 'content-type': 'application/json' })
      .end('{"jsonrpc":"2.0","id":0,"result":{}}');
  const text = Buffer.from(`id: s:0\n\nid: s:1\ndata: ${progress}\n\nid: s:2\ndata: ${answer}\n\n`);
  const cut = text.lastIndexOf(Buffer.from('😀') as unknown as Uint8Array) + 2;
  response.writeHead(200, stream).write(text.subarray(0, cut), () => setTimeout(() => response.destroy(), 50));
}

describe('what svc mcp passes on', () => {
  it('is the same to the byte both ways, each message once, through a broken stream (CL-I8, CL-48)', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const stdin = `${initialize}\n${request}\n`;
    const { code, stdout } = await runSvc(['mcp'], { environment: login(url), stdin });
    expect(code).toBe(0);
    expect(bodies).toContain(request);
    expect(stdout.split('\n').slice(1)).toEqual([progress, answer, '']);
    expect(resumed).toEqual(['s:1']);
  });

  it('is one line for one message, whatever stands between its tokens, and an error where the server gives no answer', async () => {
    const api = await startFakeApi();
    const stream = { 'content-type': 'text/event-stream' };
    api.on('DELETE /mcp', {}).on('POST /mcp', ({ body }) => {
      if (body.includes('"ping"')) return { body: '{}' };
      if (body === initialize) return { headers: { 'mcp-session-id': 's' }, body: '{"jsonrpc":"2.0",\r\n"id":0,\r"result":{}}' };
      if (!body.includes('"id":7')) return { status: 202 };
      return { headers: stream, body: `id: s:1\ndata: {"jsonrpc":"2.0",\r"id":7,"result":{}}\n\n` };
    });
    const stdin = `${initialize}\n${request}\n{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"svc_x"}}\n`;
    const { code, stdout } = await runSvc(['mcp'], { environment: login(api.url), stdin });
    await api.close();
    const [opened, ...others] = stdout.split('\n');
    expect([code, opened]).toEqual([0, '{"jsonrpc":"2.0",  "id":0, "result":{}}']);
    expect(others).toContain('{"jsonrpc":"2.0", "id":7,"result":{}}');
    expect(others.map((line) => line && JSON.parse(line))).toContainEqual(
      expect.objectContaining({ id: 8, error: expect.objectContaining({ code: -32603 }) }),
    );
  });

  it('is read alike however its bytes are cut (property)', () => {
    const bytes = Buffer.from(`id: a:0\n\n:\n\nid: a:1\ndata: ${progress}\n\nid: a:2\r\ndata: ${answer}\r\n\r\n`);
    const cuts = fc.array(fc.nat(bytes.length), { maxLength: 8 });
    fc.assert(
      fc.property(cuts, (places) => {
        const reader = new EventReader();
        const sorted = [0, ...places.toSorted((one, other) => one - other), bytes.length];
        const found = sorted.slice(1).flatMap((end, index) => reader.feed(Uint8Array.from(bytes.subarray(sorted[index], end))));
        expect(found).toEqual([
          { id: 'a:0', data: null },
          { id: 'a:1', data: progress },
          { id: 'a:2', data: answer },
        ]);
      }),
    );
  });
});
