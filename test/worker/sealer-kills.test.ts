import { randomInt } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/open-database.js';
import { sleep } from '../../lib/sleep.js';
import { sealBatch } from '../../worker/seal-batch.js';
import { openTestDatabase, testMacs } from '../support/postgres.js';
import { anchoredLog, numbered, openSealing, readChain, type Sealing, writeEvents } from '../support/sealing.js';
import { startStatementFaults } from '../support/statement-faults.js';

let sealing: Sealing;
beforeEach(async () => {
  sealing = await openSealing([], anchoredLog);
});
afterEach(() => sealing.close());

/** The names of the sealed events; each checkpoint among them has its anchor, and nothing else has one (AU-87). */
async function sealedNames() {
  const events = await readChain(sealing);
  const anchors = await sealing.database.query<{ seq: number; hash: string }>(
    'select seq, event_hash as hash from audit_anchors order by seq',
  );
  const checkpoints = events.filter(({ event_type }) => event_type === 'audit.signed_checkpoint');
  expect(anchors).toEqual(checkpoints.map(({ seq, event_hash: hash }) => ({ seq, hash })));
  return events.filter(({ event_type }) => event_type === 'config.synced').map(({ resource_id }) => resource_id);
}

/** Without a check of the chain, which costs as much as the chain is long. */
const sealedQuickly = async () =>
  (
    await sealing.database.query<{ name: string }>(
      `select resource_id as name from audit_events where seq is not null and event_type = 'config.synced' order by seq`,
    )
  ).map(({ name }) => name);

const openVictim = () =>
  openDatabase({
    url: sealing.stored.url,
    poolMax: 1,
    connectTimeoutMs: 3000,
    statementTimeoutMs: 10_000,
    applicationName: 'victim',
    macs: testMacs,
  });

describe('a sealer that is killed (AU-14)', () => {
  it('before or after any of its statements leaves a batch wholly sealed or not at all, and the next one goes on', async () => {
    const faults = await startStatementFaults(sealing.stored.url);
    const names: string[] = [];
    let [broken, committed] = [0, 0];
    for (let nth = 1, isOver = false; !isOver; nth += 1) {
      isOver = true;
      // A checkpoint is part of every other batch: each kill meets one with and one without.
      for (const [index, when] of (['before', 'after', 'after', 'before'] as const).entries()) {
        const batch = numbered(`${nth}-${index}`, 60);
        await writeEvents(sealing.database, batch);
        const victim = openTestDatabase(faults.url, 2);
        faults.arm(nth, when);
        const outcome = await victim.transaction((tx) => sealBatch(tx, sealing.keys, anchoredLog)).catch(() => null);
        const isKilled = faults.count >= nth;
        isOver &&= !isKilled;
        await victim.close();
        const sealed = await sealedQuickly();
        expect([names, [...names, ...batch]]).toContainEqual(sealed);
        if (outcome !== null) expect(sealed).toHaveLength(names.length + 60);
        if (sealed.length === names.length) broken += 1;
        else if (isKilled) committed += 1;
        names.push(...batch);
        await sealing.sealAll();
        // What the kill left is part of this chain.
        expect(await sealedNames()).toEqual(names);
      }
    }
    await faults.close();
    // Begin, lock, state, events, keys, four writes, commit. What dies after its commit has sealed.
    expect(broken).toBeGreaterThan(30);
    expect(committed).toBeGreaterThan(1);
  }, 120_000);

  it('at any moment, beside others and any number of writers, leaves one line without gaps (AU-I1)', async () => {
    const writing = new AbortController();
    const acknowledged: string[][] = [];
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let turn = 0; !writing.signal.aborted; turn += 1) {
        const names = numbered(`${writer}.${turn}`, randomInt(1, 8));
        await writeEvents(sealing.database, names);
        acknowledged.push(names);
      }
    });
    const sealers = Array.from({ length: 3 }, async () => {
      let survived = 0;
      while (!writing.signal.aborted) {
        const database = openVictim();
        for (let batch = 0; batch < 5; batch += 1)
          await database
            .transaction((tx) => sealBatch(tx, sealing.keys, anchoredLog))
            .then(
              () => (survived += 1),
              () => {},
            );
        await database.close();
      }
      return survived;
    });
    let killed = 0;
    for (let round = 0; round < 60; round += 1) {
      await sleep(randomInt(5, 60));
      const rows = await sealing.database.query<{ done: boolean }>(
        `select pg_terminate_backend(pid) as done from pg_stat_activity
         where datname = current_database() and application_name = 'victim' and xact_start is not null order by random() limit 1`,
      );
      killed += rows.length;
    }
    writing.abort();
    await Promise.all(writers);
    const survived = await Promise.all(sealers);
    expect(killed).toBeGreaterThan(5);
    expect(survived.reduce((sum, one) => sum + one)).toBeGreaterThan(5);
    await sealing.sealAll();
    const sealed = await sealedNames();
    expect(sealed.toSorted()).toEqual(acknowledged.flat().toSorted());
    // Each writer's transactions followed each other.
    for (const [writer] of writers.entries()) {
      const own = sealed.filter((name) => name?.startsWith(`${writer}.`));
      expect(own).toEqual(acknowledged.flat().filter((name) => name.startsWith(`${writer}.`)));
    }
  }, 120_000);
});
