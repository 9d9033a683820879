import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openOwnPostgres } from '../support/own-postgres.js';
import { eventually } from '../support/processes.js';
import { type System, startSystem } from '../support/system.js';
import { temporalAddress } from '../support/temporal.js';
import { type PatientCalls, patientCalls } from './calls.js';
import { insertOf, untilTold, waitMs, written } from './looks.js';

let postgres: Awaited<ReturnType<typeof openOwnPostgres>>;
let system: System;
let calls: PatientCalls;
beforeAll(async () => {
  postgres = await openOwnPostgres();
  system = await startSystem({ databaseUrl: postgres.url('postgres'), temporalAddress: await temporalAddress() });
  calls = patientCalls(system);
}, 240_000);
afterAll(async () => {
  await system?.close();
  await postgres?.close();
});

interface Route {
  method: string;
  path: string;
}

const served: Record<string, object> = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
).paths;
/**
 * Slack is off: its routes are 404 without a look at the database (SL-2). The page of links shows nothing that is stored, and a preflight of /mcp needs
 * nothing that is (MC-4). Whoever signs in or out says who they are in the body or a cookie (CO-10).
 */
const routes: Route[] = Object.entries(served)
  .flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })))
  .filter(
    ({ path }) =>
      path !== '/' && path !== '/health' && path !== '/ready' && !path.startsWith('/api/slack/') && !path.startsWith('/console'),
  )
  .filter(
    ({ method, path }) =>
      method !== 'OPTIONS' && !(path === '/api/console/session' && method !== 'GET') && path !== '/api/console/sign-in',
  );

async function statusAndCode({ method, path }: Route): Promise<[number, unknown]> {
  const { agent, admin } = system.tokens;
  const token = path.startsWith('/api/agent/') || path === '/api/public-key' ? agent : admin;
  const response = await fetch(system.servers[0]!.url + path.replace(/\{\w+\}/g, () => randomUUID()), {
    method,
    headers: { authorization: `Bearer ${token}` },
    // HT-112 allows 5 s; a busy machine needs more to answer all of them at once.
    signal: AbortSignal.timeout(15_000),
  });
  return [response.status, ((await response.json()) as { code: string }).code];
}

async function probe(url: string): Promise<unknown> {
  const response = await fetch(url);
  const { checks } = (await response.json()) as { checks?: { database: string } };
  return checks === undefined ? response.status : [response.status, checks.database];
}

/** Every route says 503, the probes say which part is down. */
async function expectAway(): Promise<void> {
  const answers = await Promise.all(routes.map(async (route) => ({ ...route, answer: await statusAndCode(route) })));
  expect(answers.filter(({ answer: [status, code] }) => status !== 503 || code !== 'service.unavailable')).toEqual([]);
  for (const { url } of [...system.servers, ...system.workers]) {
    expect(await probe(`${url}/health`)).toBe(200);
    await eventually(async () => (await fetch(`${url}/ready`)).status === 503);
    expect(await probe(`${url}/ready`)).toEqual([503, 'unavailable']);
  }
}

const outages = [
  { how: 'frozen', begin: async () => postgres.freeze(), end: async () => postgres.thaw() },
  { how: 'killed', begin: () => postgres.kill(), end: () => postgres.start() },
];

describe.each(outages)('our own Postgres $how', ({ how, begin, end }) => {
  it('every call is 503, and the run in the target ends as if nothing had been (HT-112, AG-48)', async () => {
    const before = await calls.create(`${how}-before`, 'production');
    const run = await calls.create(`${how}-run`, 'staging', insertOf(how, ' from pg_sleep(2)'));
    await eventually(async () => (await calls.statusOf(run)) === 'running', waitMs);
    // Begun around the outage: whatever became of the first attempts, each is one request in the end.
    const around = Array.from({ length: 8 }, (_, n) => calls.create(`${how}-${n}`, 'production'));
    await begin();
    await expectAway();
    await eventually(async () => (await written(system))[how] === 1, waitMs);
    await end();

    const created = await Promise.all(around);
    await calls.untilExecuted(run);
    expect((await written(system))[how]).toBe(1);
    expect(await Promise.all([before, ...created].map(calls.statusOf))).toEqual(Array(9).fill('pending'));
    const { rows } = await system.database.query(`select count(*)::int as count from requests where idempotency_key like $1`, [
      `${how}-%`,
    ]);
    expect(rows).toEqual([{ count: 10 }]);
  }, 180_000);

  it('server, worker and agent recover by themselves (OP-70, OP-71)', async () => {
    const write = await calls.create(`after-${how}`, 'production', insertOf(`after-${how}`));
    await calls.decide(write);
    await calls.untilExecuted(write);
    expect((await written(system))[`after-${how}`]).toBe(1);
    await untilTold(system);
    await eventually(async () => (await calls.workflow(write)).in_step, waitMs);
    for (const { url } of [...system.servers, ...system.workers]) {
      await eventually(async () => (await fetch(`${url}/ready`)).status === 200, waitMs);
    }
  }, 120_000);
});
