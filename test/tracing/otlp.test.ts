import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTracing } from '../../tracing/open.js';
import { type DropReason, type Tracing, type TracingLimits, traced } from '../../tracing/tracing.js';
import { type Collector, type CollectorOptions, openCollector } from '../support/collector.js';
import { eventually } from '../support/processes.js';

const quick: Partial<TracingLimits> = { queue: 8, batch: 4, delayMs: 10, exportMs: 10_000, closeMs: 10_000 };
const impatient: Partial<TracingLimits> = { exportMs: 300, closeMs: 300 };

async function collector(options: CollectorOptions = {}): Promise<Collector> {
  const opened = await openCollector(options);
  onTestFinished(() => opened.kill());
  return opened;
}

async function open(endpoint: string, limits: Partial<TracingLimits> = {}, sampleRatio = 1) {
  const dropped: Record<DropReason, number> = { queue_full: 0, not_sent: 0 };
  const troubles: (string | null)[] = [];
  const tracing = await openTracing({
    endpoint,
    sampleRatio,
    process: 'server',
    version: '0.0.0',
    onDropped: (spans, reason) => {
      dropped[reason] += spans;
    },
    onTrouble: (why) => troubles.push(why),
    limits: { ...quick, ...limits },
  });
  onTestFinished(() => tracing.close());
  return { tracing, dropped, troubles };
}

const record = (tracing: Tracing, name = 'one', requestId: string = randomUUID()) => {
  const now = performance.now();
  tracing.record({
    requestId,
    name,
    kind: 'internal',
    startedAt: now - 5,
    endedAt: now,
    attributes: { 'svc.status': 'pending' },
  });
  return requestId;
};

const recordMany = (tracing: Tracing, count: number) => {
  for (let n = 0; n < count; n += 1) record(tracing);
};

describe('spans on their way (OP-94)', () => {
  it('arrive as OTLP over HTTP, whether the address has the path or not', async () => {
    const to = await collector();
    for (const address of [to.url, `${to.url}/`, `${to.url}/v1/traces`]) {
      const { tracing } = await open(address);
      const id = record(tracing);
      await eventually(() => to.of(id).length === 1);
      expect(to.of(id)[0]).toMatchObject({ service: 'svc-server', name: 'one', kind: 1, error: null });
      expect(to.of(id)[0]!.attributes).toEqual({ 'svc.request_id': id, 'svc.status': 'pending' });
    }
    expect(new Set(to.paths)).toEqual(new Set(['POST /v1/traces application/json']));
  });

  it('have their place in the trace, their times, their failure and their link', async () => {
    const to = await collector();
    const { tracing } = await open(to.url);
    const requestId = randomUUID();
    const before = Date.now();
    await traced(
      tracing,
      { requestId, name: 'first', kind: 'server', id: 'a'.repeat(16), parent: 'none' },
      async () => {},
      () => ({ attributes: {} }),
    );
    const link = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) };
    const failing = traced(
      tracing,
      { requestId, name: 'second', kind: 'client', parent: 'a'.repeat(16), link },
      async () => Promise.reject(new Error('select secret')),
      () => ({ attributes: {} }),
    );
    await expect(failing).rejects.toThrow('select secret');
    await eventually(() => to.of(requestId).length === 2);
    const [first, second] = to.of(requestId);
    expect(first).toMatchObject({ spanId: 'a'.repeat(16), parentSpanId: '', kind: 2 });
    expect(second).toMatchObject({ parentSpanId: 'a'.repeat(16), error: 'internal', links: [link] });
    expect(first!.startMs).toBeGreaterThan(before - 1000);
    expect(first!.endMs).toBeLessThan(Date.now() + 1000);
    expect(second!.startMs).toBeGreaterThanOrEqual(first!.endMs);
    expect(to.bodies.join()).not.toContain('secret');
  });

  it('are kept or left by the id of their request, the same in every process', async () => {
    const to = await collector();
    const [one, other] = [await open(to.url, { queue: 500 }, 0.5), await open(to.url, { queue: 500 }, 0.5)];
    const ids = Array.from({ length: 200 }, () => randomUUID());
    for (const id of ids) for (const { tracing } of [one, other]) record(tracing, 'kept', id);
    await Promise.all([one.tracing.close(), other.tracing.close()]);
    const kept = ids.filter((id) => to.of(id).length > 0);
    expect(kept.length).toBeGreaterThan(50);
    expect(kept.length).toBeLessThan(150);
    for (const id of kept) expect(to.of(id)).toHaveLength(2);
    expect(one.dropped).toEqual({ queue_full: 0, not_sent: 0 });
  });

  it('of a request without a real id are left out', async () => {
    const to = await collector();
    const { tracing } = await open(to.url);
    record(tracing, 'forged', 'no-id');
    const id = record(tracing);
    await tracing.close();
    expect(to.spans.map(({ name, traceId }) => [name, traceId])).toEqual([['one', id.replaceAll('-', '')]]);
  });

  it('that still wait are sent by a stop', async () => {
    const to = await collector();
    const { tracing } = await open(to.url, { delayMs: 60_000 });
    recordMany(tracing, 3);
    expect(to.spans).toHaveLength(0);
    await tracing.close();
    expect(to.spans).toHaveLength(3);
  });
});

describe('a collector that does not do its part (OP-94)', () => {
  const nonsense: [name: string, answer: (response: ServerResponse) => void, reason: string | null][] = [
    ['answers 200 with nonsense', (response) => response.end('<html>\0{'.repeat(1000)), null],
    ['answers 500', (response) => response.writeHead(500).end('select secret from answers'), 'status 500'],
    [
      'answers 400 with words of its own',
      (response) => response.writeHead(400, 'secret').end('{"message":"secret"}'),
      'status 400',
    ],
    ['closes the connection', (response) => response.destroy(), 'ECONNRESET'],
    ['never answers', () => {}, 'no answer in time'],
    ['sends its answer byte by byte for ever', (response) => trickle(response), 'no answer in time'],
  ];

  it.each(nonsense)('%s: nobody waits, and what is lost is counted', async (_, answer, reason) => {
    const to = await collector({ answer });
    const { tracing, dropped, troubles } = await open(to.url, reason === 'no answer in time' ? impatient : {});
    recordMany(tracing, 3);
    await eventually(() => to.spans.length >= 3 && (reason === null || dropped.not_sent === 3));
    await tracing.close();
    expect(dropped).toEqual({ queue_full: 0, not_sent: reason === null ? 0 : 3 });
    expect(troubles).toEqual(reason === null ? [] : [reason]);
  });

  it('sends elsewhere: nothing goes there', async () => {
    const seen: string[] = [];
    const other = createServer((request, response) => {
      seen.push(request.url ?? '');
      response.end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await eventually(() => other.listening);
    const location = `http://127.0.0.1:${(other.address() as { port: number }).port}/stolen`;
    const to = await collector({ answer: (response) => response.writeHead(307, { location }).end() });
    const { tracing, dropped } = await open(to.url);
    recordMany(tracing, 2);
    await eventually(() => dropped.not_sent === 2);
    expect(seen).toEqual([]);
  });

  it('is away: the queue fills up to its bound and no further', async () => {
    const { tracing, dropped, troubles } = await open('http://127.0.0.1:1', { delayMs: 60_000, batch: 8 });
    recordMany(tracing, 7);
    expect(dropped.queue_full).toBe(0);
    await eventually(() => {
      recordMany(tracing, 50);
      return dropped.queue_full > 0 && dropped.not_sent > 0;
    });
    expect(troubles).toEqual(['ECONNREFUSED']);
  });

  it('comes back: it gets what happens from then on', async () => {
    const first = await collector();
    const { tracing, dropped, troubles } = await open(first.url);
    record(tracing);
    await eventually(() => first.spans.length === 1);
    await first.kill();
    record(tracing);
    await eventually(() => dropped.not_sent > 0);
    const second = await collector({ port: first.port });
    const id = await eventually(() => {
      const made = record(tracing);
      return second.spans.length > 0 && made;
    });
    await eventually(() => second.of(id).length === 1);
    expect(troubles).toEqual([expect.stringMatching(/^ECONN/), null]);
  });

  it('is frozen when the process stops: the stop goes on without it', async () => {
    const to = await collector({ answer: () => {} });
    const { tracing } = await open(to.url, { ...impatient, exportMs: 60_000 });
    recordMany(tracing, 8);
    await eventually(() => to.spans.length > 0);
    await tracing.close();
  });
});

describe('without an address', () => {
  it('work is done as without tracing', async () => {
    const tracing = await openTracing({
      endpoint: null,
      sampleRatio: 1,
      process: 'agent',
      version: '0.0.0',
      onDropped: () => expect.unreachable(),
      onTrouble: () => expect.unreachable(),
    });
    expect(tracing.isOn).toBe(false);
    const span = { requestId: randomUUID(), name: 'none', kind: 'internal' as const };
    expect(
      await traced(
        tracing,
        span,
        async () => 7,
        () => expect.unreachable(),
      ),
    ).toBe(7);
    await tracing.close();
  });
});

/** Keeps a socket busy, so that no timeout of silence ends it. */
function trickle(response: ServerResponse): void {
  const drip = setInterval(() => response.write(' '), 20);
  response.once('close', () => clearInterval(drip));
}
