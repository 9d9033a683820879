import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PatientCalls, patientCalls } from '../faults/calls.js';
import { shopToml } from '../support/api.js';
import { type CollectedSpan, type Collector, openCollector } from '../support/collector.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { type System, startSystem } from '../support/system.js';
import { temporalAddress } from '../support/temporal.js';

const waitMs = 60_000;
const preload = fileURLToPath(new URL('../support/loaded-packages.cjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'svc-traces-'));

let stored: TestDatabase;
let collector: Collector;
let system: System;
let calls: PatientCalls;
beforeAll(async () => {
  [stored, collector] = await Promise.all([createTestDatabase(), openCollector()]);
  system = await start(stored, collector.url);
  calls = patientCalls(system);
}, 240_000);
afterAll(async () => {
  await system?.close();
  await collector?.kill();
  await stored?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** A gateway of real processes, which tell at their end what they have loaded. */
async function start({ url: databaseUrl }: TestDatabase, endpoint: string | null): Promise<System> {
  const before = { NODE_OPTIONS: process.env.NODE_OPTIONS, SVC_TEST_LOADED: process.env.SVC_TEST_LOADED };
  process.env.NODE_OPTIONS = `${before.NODE_OPTIONS ?? ''} --require ${preload}`;
  process.env.SVC_TEST_LOADED = folder;
  const telemetry = endpoint === null ? '' : `[telemetry]\notlp_endpoint = "${endpoint}"\n`;
  try {
    return await startSystem({
      databaseUrl,
      temporalAddress: await temporalAddress(),
      toml: `${shopToml}\n${telemetry}`,
      agentHead: endpoint === null ? '' : `telemetry = { otlp_endpoint = "${endpoint}" }`,
    });
  } finally {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** The packages that each program had loaded when it ended. */
async function loadedBy({ servers, workers, agent }: System): Promise<string[][]> {
  const programs = [...servers, ...workers, agent];
  for (const program of programs) program.signal('SIGTERM');
  return Promise.all(
    programs.map(async (program) => {
      await program.exited();
      return readFileSync(join(folder, String(program.pid)), 'utf8')
        .split('\n')
        .filter(Boolean)
        .toSorted();
    }),
  );
}

async function write(word: string): Promise<string> {
  const more = { operation: 'execute_dml' };
  return calls.create(`traced ${word}`, 'production', `insert into entries values ('${word}')`, more);
}

const named = (id: string, name: string) => eventually(() => collector.of(id).find((span) => span.name === name), waitMs);

async function executed(word: string): Promise<string> {
  const id = await write(word);
  await calls.decide(id);
  await calls.untilExecuted(id);
  return id;
}

/** The names from a span up to the first of its trace. */
function path(spans: readonly CollectedSpan[], name: string): string[] {
  const names: string[] = [];
  for (let span = spans.find((one) => one.name === name); span; span = spans.find(({ spanId }) => spanId === span?.parentSpanId))
    names.push(span.name);
  return names;
}

it('one request is one trace, from the call that made it over its workflow to the statement of the agent (OP-94)', async () => {
  const id = await write('first');
  await named(id, 'activity step');
  await calls.decide(id);
  await calls.untilExecuted(id);
  for (const name of ['submit result', 'job', 'POST /api/agent/jobs/:id/result', 'signal workflow resumption'])
    await named(id, name);

  const spans = collector.of(id);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([id.replaceAll('-', '')]));
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  const known = new Set(spans.map(({ spanId }) => spanId));
  expect(spans.filter(({ parentSpanId }) => parentSpanId === '').map(({ name }) => name)).toEqual(['POST /api/requests']);
  expect(spans.filter(({ parentSpanId }) => parentSpanId !== '' && !known.has(parentSpanId))).toEqual([]);
  expect(path(spans, 'run statement')).toEqual(['run statement', 'job', 'claim', 'POST /api/requests']);
  for (const name of ['start workflow', 'activity step', 'POST /api/requests/:id/approve', 'POST /api/requests/:id/resume'])
    expect(path(spans, name)).toEqual([name, 'POST /api/requests']);
  for (const name of ['verify token', 'classify statement', 'submit result'])
    expect(path(spans, name)).toEqual([name, 'job', 'claim', 'POST /api/requests']);
  expect(spans.filter(({ error }) => error !== null)).toEqual([]);

  const serviceOf = (name: string) => spans.find((span) => span.name === name)?.service;
  expect(['claim', 'start workflow', 'activity step', 'run statement'].map(serviceOf)).toEqual([
    ...['svc-server', 'svc-worker', 'svc-worker', 'svc-agent'],
  ]);
  expect(spans.find(({ name }) => name === 'run statement')!.attributes).toEqual({
    'svc.request_id': id,
    'svc.database': 'shop',
    'svc.environment': 'production',
    'svc.operation': 'execute_dml',
    'svc.status': 'committed',
    'db.system.name': 'postgresql',
  });
  for (const word of ['insert into', 'first', 'alice', 'bob', system.tokens.alice, system.tokens.agent])
    expect([word, collector.bodies.join().includes(word)]).toEqual([word, false]);
}, 180_000);

it('a statement that fails is told by its code, without a word of the database (OP-94)', async () => {
  const id = await calls.create('traced failure', 'staging', 'select 1 / (pg_backend_pid() - pg_backend_pid())');
  await eventually(async () => /failed/.test(await calls.statusOf(id)), waitMs);
  const run = await named(id, 'run statement');
  expect(run).toMatchObject({ error: 'rolled_back', attributes: { 'error.type': 'rolled_back' } });
  expect(await named(id, 'job')).toMatchObject({ error: 'rolled_back' });
  expect(collector.bodies.join()).not.toContain('division');
}, 120_000);

it('while the collector is away requests go on; once it is back it gets whole traces again (OP-94)', async () => {
  const { port } = collector;
  await collector.kill();
  await executed('unseen');
  collector = await openCollector({ port });
  const id = await eventually(async () => {
    const made = await executed(`seen ${Date.now()}`);
    return (await eventually(() => collector.of(made).some(({ name }) => name === 'job'), 5000).catch(() => false)) && made;
  }, waitMs);
  for (const name of ['POST /api/requests', 'start workflow', 'run statement']) await named(id, name);
}, 240_000);

it('a stop sends what waits; without an address no package is loaded, and nobody connects (OP-94)', async () => {
  const id = await executed('last');
  for (const loaded of await loadedBy(system)) expect(loaded).toContain('@opentelemetry/sdk-trace');
  expect(collector.of(id).map(({ name }) => name)).toContain('job');

  const { connections } = collector;
  const other = await createTestDatabase();
  const quiet = await start(other, null);
  try {
    const ask = patientCalls(quiet);
    await ask.untilExecuted(await ask.create('untraced', 'staging'));
    // The metrics load the package of interfaces, which does nothing by itself.
    for (const loaded of await loadedBy(quiet)) expect(loaded.filter((name) => name !== '@opentelemetry/api')).toEqual([]);
    expect(collector.connections).toBe(connections);
  } finally {
    await quiet.close();
    await other.drop();
  }
  // The other tests need them.
  await Promise.all([...system.servers, ...system.workers, system.agent].map((program) => program.start()));
}, 240_000);
