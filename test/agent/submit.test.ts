import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGatewayClient, type GatewayClient } from '../../agent/gateway-client.js';
import { failure, type Outcome } from '../../agent/outcome.js';
import { RowsJson } from '../../agent/result-json.js';
import { submitResult } from '../../agent/submit.js';
import { defaultTimings } from '../../agent/timings.js';
import { type FakeApi, type FakeReply, startFakeApi } from '../support/fake-api.js';

const executionId = 'c0ffee00-0000-4000-8000-000000000001';
const route = `POST /api/agent/jobs/${executionId}/result`;
const accepted: FakeReply = { body: { request_id: 'r', status: 'executed' } };

let api: FakeApi;
let client: GatewayClient;
let lines: string[];
beforeEach(async () => {
  api = await startFakeApi();
  client = clientOf(api.url);
  lines = [];
});
afterEach(async () => {
  client.close();
  await api.close();
});

const clientOf = (url: string) =>
  createGatewayClient({ url, token: 'svc_test', ca: null, userAgent: 'test', connectTimeoutMs: 1000 });

const log = () => {
  const write = (message: string, fields: object = {}) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  return { error: write, warn: write, info: write, debug: write };
};

function submit(
  outcome: Outcome,
  {
    retryMs = 10_000,
    signal = new AbortController().signal,
    backoff = [1, 2],
    to = client,
    httpMs = 15_000,
    mutating = true,
  } = {},
) {
  const timings = { ...defaultTimings, httpMs, resultBackoffMs: backoff };
  return submitResult(
    { executionId, fence: 3, outcome, mutating, durationMs: 12.6, strangers: [], attempts: new Map() },
    { client: to, timings, log: log(), retryMs, signal },
  );
}

const failed = failure('rolled_back', 'driver error: query failed: no');
const sent = () => api.bodies(route);

describe('the submission of a result (AP-41, AG-50)', () => {
  it.each([400, 401, 403, 404, 405, 409, 410, 413, 415, 422])(
    'takes %i as final, and says so with execution and outcome',
    async (status) => {
      api.on(route, { status, body: { code: 'x' } });
      await submit(failed);
      expect(sent()).toHaveLength(1);
      expect(lines).toEqual([`result refused {"execution_id":"${executionId}","outcome":"rolled_back","status":${status}}`]);
    },
  );

  it.each<[string, FakeReply]>([
    ['a 500', { status: 500, body: {} }],
    ['a 502 that is no JSON', { status: 502, body: '<html>' }],
    ['a 503', { status: 503, body: {} }],
    ['a 504', { status: 504, body: {} }],
    ['a 429', { status: 429, body: {}, headers: { 'retry-after': '0' } }],
    ['a 200 without a body', { status: 200, body: '' }],
    ['a 200 that is no JSON', { status: 200, body: '{"status":' }],
    ['a 200 that lacks its key', { status: 200, body: {} }],
    ['a 408 of the gateway', { status: 408, body: { code: 'validation.failed' } }],
    ['the 404 of a proxy', { status: 404, body: '404 page not found' }],
    ['the 403 of a proxy that speaks JSON', { status: 403, body: { code: 403, message: 'no' } }],
    ['the 409 of a proxy', { status: 409, body: '' }],
    ['a redirect', { status: 307, body: {}, headers: { location: '/elsewhere' } }],
    ['a broken connection', { drop: true }],
    ['no answer', { hang: true }],
  ])('is repeated after %s, byte for byte, until it is accepted', async (_, reply) => {
    api.on(route, reply, reply, accepted);
    await submit(failed, 'hang' in reply ? { httpMs: 300 } : {});
    expect(sent()).toHaveLength(3);
    expect(new Set(api.calls.map(({ body }) => body)).size).toBe(1);
    expect(lines.at(-1)).toContain('result accepted');
  });

  it.each([429, 503])(
    'waits as long as Retry-After of a %i says, but at its end sends the result a last time',
    async (status) => {
      api.on(route, { status, body: {}, headers: { 'retry-after': '3600' } });
      await submit(failed, { retryMs: 300 });
      expect(sent()).toHaveLength(2);
      expect(lines.at(-1)).toContain('result given up');
    },
  );

  it('is accepted at the last moment, though it was to wait longer', async () => {
    api.on(route, { status: 429, body: {}, headers: { 'retry-after': '3600' } }, accepted);
    await submit(failed, { retryMs: 300 });
    expect(lines.at(-1)).toContain('result accepted');
  });

  it('is given up after result_retry_secs, and at once when the agent must end', async () => {
    api.on(route, { status: 503, body: {} });
    await submit(failed, { retryMs: 3000, backoff: [20] });
    expect(sent().length).toBeGreaterThan(1);
    expect(lines.at(-1)).toBe(`result given up {"execution_id":"${executionId}","outcome":"rolled_back"}`);
    const stop = new AbortController();
    const waiting = submit(failed, { signal: stop.signal, backoff: [600_000], retryMs: 3_600_000 });
    await expect.poll(() => lines.some((line) => line.includes('not accepted yet'))).toBe(true);
    stop.abort(new Error('agent stopped'));
    await waiting;
  });

  it('waits 1, 2, 4, 8, 15, 15 … seconds', () => {
    expect(defaultTimings.resultBackoffMs).toEqual([1000, 2000, 4000, 8000, 15_000]);
  });

  it('says of a failure its outcome, fence, time, and whether a cancel caused it; its text is cut to 4096 bytes', async () => {
    api.on(route, accepted);
    await submit({ success: false, outcome: 'unknown', errorMessage: 'ä'.repeat(4000), cancelled: true });
    expect(sent()).toEqual([
      { success: false, outcome: 'unknown', fence: 3, duration_ms: 13, error_message: 'ä'.repeat(2048), cancelled: true },
    ]);
  });
});

describe('a result whose data does not get through (AP-41)', () => {
  const large = (): Outcome => {
    const { text } = rowsOf(200);
    return { success: true, outcome: 'committed', resultData: text, rowsAffected: 7, truncated: false };
  };
  const refusing: FakeReply = { status: 413, body: '<html>413 Request Entity Too Large</html>' };
  const bare = { success: true, outcome: 'committed', rows_affected: 7, truncated: true, result_data: '{"rows_affected":7}' };

  it('tells that a write has committed without the data that a proxy refuses', async () => {
    api.on(route, refusing, accepted);
    await submit(large());
    expect(sent().at(-1)).toMatchObject(bare);
    expect(lines.at(-1)).toContain('result accepted');
  });

  it('tells that a read failed', async () => {
    api.on(route, refusing, accepted);
    await submit({ ...large(), rowsAffected: null } as Outcome, { mutating: false });
    expect(sent().at(-1)).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      error_message: expect.stringMatching(/^result too large to be sent: \d+ bytes$/),
    });
  });

  it('keeps the outcome of a failure', async () => {
    const resultData = rowsOf(200).text;
    api.on(route, refusing, accepted);
    await submit({ success: false, outcome: 'partial', errorMessage: 'stopped', cancelled: false, resultData });
    expect(sent().at(-1)).toEqual({
      success: false,
      outcome: 'partial',
      fence: 3,
      duration_ms: 13,
      error_message: 'stopped',
      cancelled: false,
    });
  });

  it('tells the outcome alone at the end of its time, when all of it was too slow', async () => {
    api.on(route, { hang: true }, { hang: true }, accepted);
    await submit(large(), { retryMs: 300, backoff: [600_000], httpMs: 100 });
    expect(sent().at(-1)).toMatchObject(bare);
  });

  it('tells all of it if its last try comes through, however often it was refused before', async () => {
    api.on(route, { status: 503, body: {} }, accepted);
    await submit(large(), { retryMs: 300, backoff: [600_000] });
    expect(sent().at(-1)).toMatchObject({ truncated: false });
    expect(sent()).toHaveLength(2);
  });

  it('sends small data again as it is', async () => {
    const { text } = rowsOf(1);
    api.on(route, refusing, accepted);
    await submit({ success: true, outcome: 'committed', resultData: text, rowsAffected: 7, truncated: false });
    expect(new Set(sent().map((body) => JSON.stringify(body))).size).toBe(1);
  });
});

/** A result of this many rows of a KiB each. */
function rowsOf(count: number) {
  const rows = new RowsJson(['t'], ['text'], { maxRows: 10_000, maxResultBytes: 8_000_000 });
  for (let n = 0; n < count; n += 1) rows.add(1024, () => [JSON.stringify('x'.repeat(1024))]);
  return rows.finish();
}

describe('the body of a large result (AP-40)', () => {
  it('goes to the wire in pieces, is escaped on the way, and can be sent again', async () => {
    const rows = new RowsJson(['t'], ['text'], { maxRows: 10_000, maxResultBytes: 8_000_000 });
    const value = JSON.stringify(`"quote" \\ \u0001 \u2028 😀 ${'x'.repeat(900)}`);
    for (let n = 0; n < 4000; n += 1) rows.add(value.length, () => [value]);
    const { text, truncated } = rows.finish();
    const outcome: Outcome = { success: true, outcome: 'committed', resultData: text, rowsAffected: null, truncated };
    const wire = await startWire([503, 200]);
    const sender = clientOf(wire.url);
    await submit(outcome, { to: sender });
    sender.close();
    await wire.close();
    expect(wire.calls).toHaveLength(2);
    for (const { body, chunks, headers } of wire.calls) {
      expect(headers['transfer-encoding']).toBe('chunked');
      expect(chunks).toBeGreaterThan(10);
      expect(JSON.parse(body)).toMatchObject({ success: true, outcome: 'committed', fence: 3, truncated: false });
      expect(JSON.parse(body).result_data).toBe(text.toString());
    }
  });
});

it('AG-50: a large result on a slow link is not cut while more of it arrives', async () => {
  const rows = new RowsJson(['t'], ['text'], { maxRows: 10_000, maxResultBytes: 64 * MIB });
  const value = JSON.stringify('x'.repeat(MIB));
  for (let n = 0; n < 32; n += 1) rows.add(value.length, () => [value]);
  const { text: resultData, truncated } = rows.finish();
  const wire = await startWire([], slowly);
  const sender = clientOf(wire.url);
  await submit({ success: true, outcome: 'committed', resultData, rowsAffected: null, truncated }, { to: sender, httpMs: 1500 });
  sender.close();
  await wire.close();
  expect(lines).toEqual([expect.stringContaining('result accepted')]);
  expect(wire.calls).toHaveLength(1);
});

const MIB = 1024 * 1024;

/** Takes the first 20 MiB, more than what connections hold on their way, in 4 s. */
function slowly(request: IncomingMessage): void {
  let taken = 0;
  request.on('data', (piece: Buffer) => {
    const before = taken;
    taken += piece.length;
    if (taken > 20 * MIB || Math.floor((2 * taken) / MIB) === Math.floor((2 * before) / MIB)) return;
    request.pause();
    setTimeout(() => request.resume(), 100);
  });
}

/** A server that answers these statuses in turn, and counts the pieces that a body comes in. */
async function startWire(statuses: number[], take = (_: IncomingMessage) => {}) {
  const calls: { body: string; chunks: number; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    take(request);
    request.on('end', () => {
      calls.push({ body: Buffer.concat(pieces).toString(), chunks: pieces.length, headers: request.headers });
      response.writeHead(statuses.shift() ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(accepted.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => server.close(resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls, close };
}
