import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sleep } from '../../../lib/sleep.js';
import { anchorWorkflowId } from '../../../workflows/messages.js';
import { anchoredLog, openSealing, type Sealing } from '../../support/sealing.js';
import { openOwnTemporal } from '../own-temporal.js';
import { eventually } from '../support.js';
import { addCheckpoints, anchored, clientOf, refused, rowsOf, sizeOf, startAnchorWorker, statesOf } from './support.js';

let server: Awaited<ReturnType<typeof openOwnTemporal>>;
let sealing: Sealing;
let worker: Awaited<ReturnType<typeof startAnchorWorker>>;
let dead = false;
const given: number[] = [];
const taskQueue = `test-${randomUUID()}`;
beforeAll(async () => {
  server = await openOwnTemporal();
  sealing = await openSealing([], anchoredLog);
  worker = await startAnchorWorker({
    url: sealing.stored.url,
    address: server.address,
    taskQueue,
    againMs: 500,
    async anchor(note) {
      given.push(sizeOf(note));
      return dead ? refused('exit_1') : anchored('yes');
    },
  });
});
afterAll(async () => {
  await worker.stop();
  await server.close();
  await sealing.close();
});

// The story of one outage after the other.
describe('while Temporal is away (AU-88)', { shuffle: false }, () => {
  it('checkpoints are sealed and wait; once it is there, the newest is given, once', async () => {
    const seqs = await addCheckpoints(sealing, 2);
    await sleep(1500);
    expect(await statesOf(sealing)).toEqual(seqs.map((seq) => `${seq} waiting`));
    await server.start();
    await eventually(async () => (await statesOf(sealing)).at(-1) === `${seqs[1]} anchored`);
    expect(await statesOf(sealing)).toEqual([`${seqs[0]} covered by ${seqs[1]}`, `${seqs[1]} anchored`]);
    await sleep(1500);
    expect(given).toEqual([seqs[1]]);
  }, 60_000);

  it('and when it has lost its data, what waits gets its workflow again, and what is anchored does not', async () => {
    dead = true;
    const [seq] = await addCheckpoints(sealing, 1);
    await eventually(async () => (await rowsOf(sealing)).at(-1)!.attempts >= 2);
    await server.kill();
    server.loseData();
    const former = given.length;
    dead = false;
    await server.start();
    await eventually(async () => (await statesOf(sealing)).at(-1) === `${seq} anchored`);
    await sleep(1500);
    expect(given.slice(former)).toEqual([seq]);
    const client = clientOf(server.address);
    expect(await client.workflow.getHandle(anchorWorkflowId(taskQueue, seq!)).result()).toBe(`anchored ${seq}`);
    expect((await client.workflow.count(`WorkflowType = 'auditAnchor'`)).count).toBe(1);
  }, 60_000);
});
