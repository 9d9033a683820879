import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findMysql } from '../support/mysql.js';
import { eventually } from '../support/processes.js';
import { type BothTargets, startBothTargets } from './both-targets.js';
import { waitMs } from './looks.js';
import type { Target } from './targets.js';
import { type Played, stateOf } from './writes.js';

/** Cancels for each kind of database; hundreds take minutes. */
const perTarget = Number(process.env.SVC_TEST_FAULT_CANCELS ?? 20);
const atOnce = 4;

const mysql = await findMysql(import.meta.url);
let both: BothTargets;
beforeAll(async () => {
  both = await startBothTargets({ testFile: import.meta.url, keys: perTarget + 3 });
  // An agent that asks every few milliseconds whether a cancel was asked for, so that the answer meets any instant of a statement.
  await both.system.agent.kill();
  await both.startOther({ timings: { heartbeatMs: 10 } });
}, 240_000);
afterAll(() => both?.close());

const naps = { shop: 'pg_sleep', store: 'sleep' };
/** Adds one, and takes a while before and after that. */
const napping = (target: Target, key: number, seconds: number) =>
  `select ${naps[target.name]}(${seconds}); update ledger set n = n + 1 where id = ${key}; select ${naps[target.name]}(${seconds})`;

const isOver = (status: string) => status !== 'dispatched' && status !== 'running';
async function untilOver(id: string): Promise<void> {
  await eventually(async () => isOver(await both.calls.statusOf(id)), waitMs);
}

describe.each(['shop', 'store'] as const)('a cancel on %s', (name) => {
  const target = () => both.targets.find((one) => one.name === name);
  const create = async (key: number, seconds: number): Promise<Played> => {
    const one = target()!;
    const detail = napping(one, key, seconds);
    const id = await both.calls.create(`${name}-${key}`, 'staging', detail, { database: name });
    return { id, key, target: one, kind: { ...one.kinds[0]!, detail: () => detail } };
  };
  const cancel = ({ id }: Played) => both.calls.act(both.system.tokens.alice, id, 'cancel');

  it.skipIf(name === 'store' && mysql === null)(
    'AG-63, AP-43: of a statement that sleeps is confirmed, and nothing is written',
    async () => {
      const one = await create(1, 30);
      await eventually(async () => (await both.calls.statusOf(one.id)) === 'running', waitMs);
      // 202 says that the outcome did not come while the call waited.
      expect([200, 202]).toContain((await cancel(one)).status);
      await untilOver(one.id);
      expect(await stateOf(both.system, one)).toMatchObject({ status: 'cancelled', applied: 0 });
    },
    180_000,
  );

  it.skipIf(name === 'store' && mysql === null)(
    'AG-63: after the end changes nothing',
    async () => {
      const one = await create(2, 0);
      await untilOver(one.id);
      expect((await cancel(one)).status).toBe(409);
      expect(await stateOf(both.system, one)).toMatchObject({ status: 'executed', outcome: 'committed', applied: 1 });
    },
    180_000,
  );

  it.skipIf(name === 'store' && mysql === null)(
    'AG-I4, AP-I5, C5: at any instant of a write is never told for a committed change, nor a success for one rolled back',
    async () => {
      const lives = await race(0, atOnce, () => waitMs);
      const lifeMs = Math.min(...lives.map(({ livedMs }) => livedMs));
      const raced = [...lives];
      for (let n = atOnce; n < perTarget; n += atOnce)
        raced.push(...(await race(n, Math.min(atOnce, perTarget - n), (turn) => lifeMs * ((turn * 0.618_034) % 1))));
      await both.writes.settle(raced.map(({ played }) => played));
      for (const { played, answered } of raced) {
        const { status, outcome, applied } = await stateOf(both.system, played);
        expect([status, outcome, applied]).toEqual([status, outcome, status === 'executed' ? 1 : 0]);
        expect(['executed', 'cancelled']).toContain(status);
        if (answered.status === 200) expect(status).toBe('cancelled');
        if (answered.status === 409) expect(answered.body.error).toContain(status);
      }
      expect(raced).toHaveLength(perTarget);
    },
    1_800_000,
  );

  /** Runs writes at once, each cancelled when its time has come unless it is over before. */
  async function race(from: number, count: number, afterMs: (turn: number) => number) {
    return Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const turn = from + index;
        const played = await create(3 + turn, 0.02 * (turn % 4));
        const begunAt = performance.now();
        const over = untilOver(played.id).then(() => performance.now() - begunAt);
        await Promise.race([over, sleep(afterMs(turn))]);
        const answered = await cancel(played);
        return { played, answered, livedMs: await over };
      }),
    );
  }
});
