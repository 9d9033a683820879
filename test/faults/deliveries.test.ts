import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyWebhook } from '../../crypto/webhook-signature.js';
import { freePort } from '../../dev/ports.js';
import { shopToml } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { share } from '../support/share.js';
import { type System, startSystem } from '../support/system.js';
import { openOwnTemporal } from '../worker/own-temporal.js';
import { type PatientCalls, patientCalls } from './calls.js';

const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX';
const changes = share(25, 60);

let stored: TestDatabase;
let temporal: Awaited<ReturnType<typeof openOwnTemporal>>;
let system: System;
let calls: PatientCalls;
let receiver: ReturnType<typeof restartableReceiver>;
beforeAll(async () => {
  stored = await createTestDatabase();
  temporal = await openOwnTemporal();
  await temporal.start();
  receiver = restartableReceiver(await freePort());
  await receiver.start();
  const webhook = `[[webhooks]]\nid = "feed"\nurl = "http://127.0.0.1:${receiver.port}/in"\nsecret = "${secret}"\nevents = ["request.*"]\n`;
  const toml = `allow_private_networks = true\n${shopToml}${webhook}`;
  system = await startSystem({ databaseUrl: stored.url, temporalAddress: temporal.address, toml, workers: 2 });
  calls = patientCalls(system);
}, 240_000);
afterAll(async () => {
  await system?.close();
  await receiver?.stop();
  await temporal?.close();
  await stored?.drop();
});

interface Received {
  id: string;
  body: string;
  fault: string | null;
}

/** Answers 200, except to every tenth call, which it breaks off. */
function restartableReceiver(port: number) {
  const received: Received[] = [];
  const answered = new Set<string>();
  let server: Server | undefined;
  return {
    port,
    received,
    answered,
    async start() {
      server = createServer(async (request, response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const body = Buffer.concat(chunks);
        const id = String(request.headers['webhook-id']);
        const fault = verifyWebhook({ headers: request.headers, body, secret, now: Date.now() });
        received.push({ id, body: body.toString(), fault });
        if (received.length % 10 === 0) return void request.socket.destroy();
        answered.add(id);
        response.end();
      });
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    async stop() {
      server?.closeAllConnections();
      await new Promise((resolve) => server?.close(resolve) ?? resolve(null));
    },
  };
}

/** One after the other is away for a moment; Temporal loses its data once. */
async function breakThings(until: Promise<unknown>): Promise<void> {
  let over = false;
  void until.finally(() => {
    over = true;
  });
  for (let round = 0; !over; round += 1) {
    await receiver.stop();
    await sleep(300);
    await receiver.start();
    const worker = system.workers[round % 2]!;
    await worker.kill();
    await worker.start();
    if (round % 3 === 1) {
      await temporal.kill();
      if (round === 1) temporal.loseData();
      await temporal.start();
    }
  }
}

interface Row {
  id: string;
  event_type: string;
  request_id: string;
  body: string;
  status: string;
  attempts: number;
}
const rows = async () => (await system.database.query<Row>('select * from webhook_deliveries')).rows;

/** What waits for the next attempt is due now, and Temporal is told again, as the keeper of deliveries does after a minute. */
const hurry = () =>
  system.database.query(
    `update webhook_deliveries set told = false, next_retry_at = case when status = 'pending' then clock_timestamp() end where finished_at is null`,
  );

it('every change is told, with equal bytes on each attempt, while receiver, workers and Temporal are killed (NT-3, NT-I1 to NT-I4)', async () => {
  const ids: string[] = [];
  const making = (async () => {
    for (let n = 0; n < changes; n += 1) {
      const id = await calls.create(`told-${n}`, 'production');
      await calls.act(system.tokens.bob, id, 'reject');
      ids.push(id);
    }
  })();
  await Promise.all([making, breakThings(making)]);
  await eventually(async () => {
    if ((await rows()).every(({ status }) => status === 'delivered')) return true;
    await hurry();
    await sleep(3000);
    return false;
  }, 240_000);

  const all = await rows();
  const told = all.map(({ event_type, request_id }) => `${event_type} ${request_id}`).toSorted();
  expect(told).toEqual(ids.flatMap((id) => [`request.created ${id}`, `request.rejected ${id}`]).toSorted());
  expect(all.filter(({ attempts }) => attempts > 10)).toEqual([]);
  const bodies = new Map(all.map(({ id, body }) => [`wd-${id}`, body]));
  expect(receiver.received.filter(({ fault }) => fault !== null)).toEqual([]);
  expect(receiver.received.filter(({ id, body }) => bodies.get(id) !== body)).toEqual([]);
  expect([...bodies.keys()].filter((id) => !receiver.answered.has(id))).toEqual([]);
  expect(receiver.received.length).toBeGreaterThan(all.length);
}, 900_000);
