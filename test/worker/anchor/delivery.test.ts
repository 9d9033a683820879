import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Anchor } from '../../../activities/anchor.js';
import { openSignedCheckpoint } from '../../../crypto/signed-note.js';
import { sleep } from '../../../lib/sleep.js';
import { anchorWorkflowId } from '../../../workflows/messages.js';
import { anchoredLog, openSealing, readChain, rootUpTo, type Sealing } from '../../support/sealing.js';
import { startStatementFaults } from '../../support/statement-faults.js';
import { temporalAddress } from '../../support/temporal.js';
import { eventually } from '../support.js';
import { addCheckpoints, anchored, clientOf, refused, rowsOf, sizeOf, startAnchorWorker, statesOf } from './support.js';

let sealing: Sealing;
let workers: Awaited<ReturnType<typeof startAnchorWorker>>[];
let taskQueue: string;
beforeEach(async () => {
  sealing = await openSealing([], anchoredLog);
  workers = [];
  taskQueue = `test-${randomUUID()}`;
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await sealing.close();
});

async function work(anchor: Anchor, more: { againMs?: number; activityUrl?: string } = {}) {
  const worker = await startAnchorWorker({
    url: sealing.stored.url,
    address: await temporalAddress(),
    taskQueue,
    anchor,
    ...more,
  });
  workers.push(worker);
  return worker;
}

const untilStates = (...states: string[]) =>
  eventually(async () => JSON.stringify(await statesOf(sealing)) === JSON.stringify(states));
const runsOf = async (oldest: number) => {
  const runs = [];
  const query = `WorkflowId = '${anchorWorkflowId(taskQueue, oldest)}'`;
  for await (const run of clientOf(await temporalAddress()).workflow.list({ query })) runs.push(run);
  return runs;
};

describe('each checkpoint of a log with an anchor (AU-87)', () => {
  it('has a row with the tree up to it, signed; a log without an anchor has none', async () => {
    const seqs = await addCheckpoints(sealing, 3);
    const events = await readChain(sealing);
    const checkpoints = events.filter(({ event_type }) => event_type === 'audit.signed_checkpoint');
    expect(seqs).toEqual(checkpoints.map(({ seq }) => seq));
    const { trusted } = await sealing.keys(sealing.database);
    for (const { seq, note } of await rowsOf(sealing)) {
      const opened = openSignedCheckpoint(note, trusted.values());
      expect(opened).toMatchObject({ origin: 'svc', size: seq });
      expect(Buffer.from(opened!.root).toString('hex')).toBe(rootUpTo(events, seq));
    }
    const plain = await openSealing();
    await addCheckpoints(plain, 1);
    expect(await rowsOf(plain)).toEqual([]);
    await plain.close();
  });

  it('is given to it, and the answer is kept byte for byte with the checkpoint (AU-88)', async () => {
    const given: string[] = [];
    await work(async (note) => {
      given.push(note);
      return { kind: 'anchored', answer: Uint8Array.of(0, 255, 10), isTruncated: false };
    });
    const [seq] = await addCheckpoints(sealing, 1);
    await untilStates(`${seq} anchored`);
    const [row] = await rowsOf(sealing);
    expect(given).toEqual([row!.note]);
    expect([...row!.answer!]).toEqual([0, 255, 10]);
    expect(row).toMatchObject({ attempts: 1, last_error: null });
    const address = await temporalAddress();
    const handle = clientOf(address).workflow.getHandle(anchorWorkflowId(taskQueue, seq!));
    expect(await handle.result()).toBe(`anchored ${seq}`);
    const run = await handle.describe();
    expect(run.type).toBe('auditAnchor');
    expect(await run.staticSummary()).toBe(`gives the audit log from checkpoint ${seq} on to the anchor outside`);
    const history = JSON.stringify(await handle.fetchHistory());
    expect(history).not.toContain(Buffer.from(row!.note).toString('base64').slice(0, 40));
  });
});

describe('an anchor that fails (AU-88)', () => {
  it('is tried again, and while it is dead only the newest checkpoint matters: its tree covers the older ones', async () => {
    let dead = true;
    const tried: number[] = [];
    await work(async (note) => {
      tried.push(sizeOf(note));
      return dead ? refused('status_503') : anchored('yes');
    });
    const [first] = await addCheckpoints(sealing, 1);
    await eventually(async () => (await rowsOf(sealing))[0]!.attempts >= 2);
    expect(await rowsOf(sealing)).toMatchObject([{ state: 'waiting', last_error: 'status_503' }]);
    const more = await addCheckpoints(sealing, 4);
    const newest = more.at(-1)!;
    await eventually(() => tried.includes(newest));
    dead = false;
    await untilStates(...[first, ...more.slice(0, -1)].map((seq) => `${seq} covered by ${newest}`), `${newest} anchored`);
    expect(new Set(tried)).toEqual(new Set([first, newest]));
    // One workflow worked for all of them.
    expect(await runsOf(first!)).toHaveLength(1);
    for (const seq of more) expect(await runsOf(seq)).toEqual([]);
    const [last] = await addCheckpoints(sealing, 1);
    await eventually(async () => (await statesOf(sealing)).includes(`${last} anchored`));
  }, 60_000);

  it('tells Temporal one word of ours, and nothing that it or the database said', async () => {
    await work(async () => refused('exit_7'));
    const [seq] = await addCheckpoints(sealing, 1);
    const handle = clientOf(await temporalAddress()).workflow.getHandle(anchorWorkflowId(taskQueue, seq!));
    const described = await eventually(async () => {
      const found = await handle.describe().catch(() => null);
      return found?.raw.pendingActivities?.[0]?.lastFailure ? found : null;
    });
    const pending = described.raw.pendingActivities![0]!;
    expect(pending.activityType?.name).toBe('giveToAnchor');
    expect(pending.lastFailure).toMatchObject({ message: `the anchor did not take checkpoint ${seq}: exit_7`, stackTrace: '' });
    expect(JSON.stringify(described.raw)).not.toContain('marker-detail');
    await handle.terminate();
  });
});

describe('somebody who writes the database (AU-92)', () => {
  it('cannot have another note given: it must be signed, and of that checkpoint', async () => {
    const [first, second] = await addCheckpoints(sealing, 2);
    const [older, newer] = await rowsOf(sealing);
    const given: string[] = [];
    const handle = clientOf(await temporalAddress()).workflow.getHandle(anchorWorkflowId(taskQueue, first!));
    const forgeries = [
      newer!.note.replace(/\n\d+\n/, '\n9\n'),
      older!.note,
      'svc\n203\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n— svc AAAAAAAA\n',
      'anything',
      '',
    ];
    const tamper = (forged: string) =>
      sealing.tamper(
        `update audit_anchors set note = '${forged}', attempts = 0, last_error = null where seq = ${second}`,
        'update audit_anchors set asked_at = null',
      );
    await tamper('x');
    const anchor: Anchor = async (note) => {
      given.push(note);
      return anchored('yes');
    };
    await work(anchor, { againMs: 300 });
    for (const forged of forgeries) {
      await tamper(forged);
      await eventually(async () => (await rowsOf(sealing))[1]!.last_error === 'note_not_genuine');
      // Else the next attempt waits longer each time.
      await handle.terminate();
    }
    expect(given).toEqual([]);
    const [third] = await addCheckpoints(sealing, 1);
    await untilStates(`${first} covered by ${third}`, `${second} covered by ${third}`, `${third} anchored`);
    expect(given.map(sizeOf)).toEqual([third]);
  }, 60_000);

  it('with the rights of the gateway can neither change nor delete what is anchored, nor its note (AU-92)', async () => {
    const [seq, other] = await addCheckpoints(sealing, 2);
    const { database } = sealing;
    for (const change of ["note = 'x'", "event_hash = 'x'", 'seq = 9', 'created_at = now()'])
      await expect(database.query(`update audit_anchors set ${change}`)).rejects.toThrow('append-only');
    await database.query(`update audit_anchors set state = 'anchored', answer = 'a', answered_at = now() where seq = ${other}`);
    for (const change of ["answer = 'b'", "state = 'waiting', answer = null, answered_at = null", 'attempts = 0'])
      await expect(database.query(`update audit_anchors set ${change} where seq = ${other}`)).rejects.toThrow('append-only');
    await expect(database.query(`delete from audit_anchors where seq = ${seq}`)).rejects.toThrow('append-only');
    await expect(database.query('truncate audit_anchors')).rejects.toThrow('append-only');
    await expect(
      database.query(`update audit_anchors set answer = '${'x'.repeat(65_537)}' where seq = ${seq}`),
    ).rejects.toThrow();
  });
});

describe('workers (AU-88)', () => {
  it('of any number on one database give a checkpoint once while none of them dies', async () => {
    const given: number[] = [];
    const anchor: Anchor = async (note) => {
      given.push(sizeOf(note));
      await sleep(300);
      return anchored('yes');
    };
    await Promise.all([work(anchor), work(anchor), work(anchor)]);
    const seqs: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const [seq] = await addCheckpoints(sealing, 1);
      seqs.push(seq!);
      await eventually(async () => (await statesOf(sealing)).at(-1) === `${seq} anchored`);
    }
    expect(given).toEqual(seqs);
    for (const worker of workers) expect(worker.failures).toEqual([]);
  }, 60_000);

  it('whose connection breaks at any statement of an attempt leave it waiting, and it is anchored in the end', async () => {
    const faults = await startStatementFaults(sealing.stored.url);
    const given: number[] = [];
    const anchor: Anchor = async (note) => {
      given.push(sizeOf(note));
      return anchored(`answer ${sizeOf(note)}`);
    };
    await work(anchor, { activityUrl: faults.url });
    // An attempt is two statements: it begins, and keeps the answer.
    for (const nth of [1, 2])
      for (const when of ['before', 'after'] as const) {
        faults.arm(nth, when);
        const [seq] = await addCheckpoints(sealing, 1);
        await eventually(async () => (await statesOf(sealing)).at(-1) === `${seq} anchored`);
        expect((await rowsOf(sealing)).at(-1)!.answer!.toString()).toBe(`answer ${seq}`);
        expect(given).toContain(seq);
      }
    expect(faults.count).toBeGreaterThan(1);
    await faults.close();
  }, 60_000);

  it('start a workflow again that was terminated in the Temporal UI', async () => {
    let dead = true;
    await work(async () => (dead ? refused('exit_1') : anchored('yes')), { againMs: 300 });
    const [seq] = await addCheckpoints(sealing, 1);
    const handle = clientOf(await temporalAddress()).workflow.getHandle(anchorWorkflowId(taskQueue, seq!));
    await eventually(async () => (await rowsOf(sealing))[0]!.attempts > 0);
    dead = false;
    await handle.terminate();
    await untilStates(`${seq} anchored`);
  }, 60_000);
});
