import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTemporalReader } from '../../api/temporal.js';
import { countBacklog } from '../../db/outbox.js';
import { createLog } from '../../runtime/log.js';
import { createMetrics } from '../../runtime/metrics.js';
import { approve, claim, finish, storeRequest } from '../support/requests.js';
import { openOwnTemporal } from './own-temporal.js';
import { describeRun, eventually, startTestWorker, type TestWorker, untilEnded, untilKnown, untilStored } from './support.js';

let server: Awaited<ReturnType<typeof openOwnTemporal>>;
let worker: TestWorker;
let reader: ReturnType<typeof createTemporalReader>;
const namespace = 'svc';
const said: string[] = [];
beforeAll(async () => {
  server = await openOwnTemporal();
  const write = (line: string) => said.push(JSON.parse(line).msg);
  const log = createLog({ process: 'worker', version: '1', level: 'info', format: 'json', write });
  worker = await startTestWorker({ address: server.address, namespace, log });
  const temporal = {
    address: server.address,
    namespace,
    taskQueue: 'x',
    tls: false,
    apiKey: null,
    callTimeoutSecs: 3,
    maxBacklog: 100,
    uiUrl: null,
  };
  reader = createTemporalReader(
    { temporal: { ...temporal, tlsFiles: { ca: null, cert: null, key: null, serverName: null } } },
    createMetrics('test'),
  );
});
afterAll(async () => {
  await reader.close();
  await worker.stop();
  await server.close();
});

const untilTold = () => eventually(async () => (await countBacklog(worker.database)) === 0);

// Temporal's server is first started in the middle of the first test.
describe('while Temporal is away', { shuffle: false }, () => {
  it('news waits; once Temporal is there, its namespace is made and publishing starts', async () => {
    const id = await storeRequest(worker.database);
    expect(await reader.reachable()).toBe(false);
    expect(await reader.requestWorkflow(id)).toEqual({ runId: null, live: null, liveError: 'unavailable' });
    // A worker that has never met Temporal raises the alert too.
    await eventually(async () => {
      const { values } = await worker.metrics.temporalErrors.get();
      return values.some(({ labels, value }) => labels.operation === 'work' && value > 0);
    });
    expect(await countBacklog(worker.database)).toBe(1);
    await server.start();
    await untilKnown(worker, id, 'pending');
    expect((await describeRun(worker, id)).searchAttributes).toMatchObject({ SvcDatabase: ['shop'] });
    await eventually(() => reader.reachable());
    expect(await reader.requestWorkflow(id)).toMatchObject({
      live: { version: 1, status: 'pending', deadline: expect.any(String) },
      liveError: null,
    });
  });

  it('survives a kill: what was committed in the meantime is told, and the move of a clock that ran out is made', async () => {
    const { database } = worker;
    const [waits, expires] = await Promise.all([storeRequest(database), storeRequest(database, { pendingSecs: 4 })]);
    await untilKnown(worker, expires, 'pending');
    await untilKnown(worker, waits, 'pending');
    await server.kill();
    await approve(database, waits);
    const read = await storeRequest(database, { dispatched: true, operation: 'execute_select' });
    await finish(database, read, await claim(database, read));
    await sleep(6000);
    expect(await countBacklog(database)).toBe(2);
    await server.start();
    await Promise.all([
      untilTold(),
      untilKnown(worker, waits, 'approved'),
      untilEnded(worker, read),
      untilStored(worker, expires, 'expired'),
    ]);
  }, 60_000);

  it('is told when it begins and when it is over (OP-95)', async () => {
    const about = () => said.filter((text) => text.endsWith('Temporal is not reachable'));
    const before = about().length;
    await server.kill();
    await storeRequest(worker.database);
    await eventually(() => about().length > before);
    await server.start();
    await untilTold();
    expect(about().slice(before)).toEqual(['Temporal is not reachable', 'over: Temporal is not reachable']);
  }, 120_000);

  it('survives the loss of its data: namespace and search attributes are made again without a restart of the worker', async () => {
    const before = await storeRequest(worker.database);
    await untilKnown(worker, before, 'pending');
    await server.kill();
    server.loseData();
    await server.start();
    const id = await storeRequest(worker.database);
    await untilKnown(worker, id, 'pending');
    expect((await describeRun(worker, id)).searchAttributes).toMatchObject({ SvcDatabase: ['shop'] });
    expect(await reader.requestWorkflow(before)).toEqual({ runId: null, live: null, liveError: 'not_running' });
    await approve(worker.database, before);
    await untilKnown(worker, before, 'approved');
    await untilTold();
  }, 60_000);
});
