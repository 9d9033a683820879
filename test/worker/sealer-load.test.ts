import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openNotifications } from '../../db/notifications.js';
import { sleep } from '../../lib/sleep.js';
import { keepDoing } from '../../worker/job.js';
import { createSealer } from '../../worker/sealer.js';
import { numbered, openSealing, readChain, type Sealing, writeEvents } from '../support/sealing.js';

let sealing: Sealing;
let stop: () => Promise<void>;
beforeEach(async () => {
  sealing = await openSealing();
  const { database } = sealing;
  const notifications = openNotifications({ url: sealing.stored.url, database, applicationName: 'test' });
  const stopping = new AbortController();
  const host = { notifications, signal: stopping.signal, onFailure: () => {} };
  const sealers = [1, 2].map(() =>
    keepDoing(
      createSealer({ database, keys: sealing.keys, origin: () => 'svc', isAnchored: false, log: pino({ level: 'silent' }) }),
      host,
    ),
  );
  stop = async () => {
    stopping.abort();
    await Promise.all(sealers);
    await notifications.close();
  };
});
afterEach(async () => {
  await stop();
  await sealing.close();
});

const oldestMs = async () => {
  const [row] = await sealing.database.query<{ ms: number }>(
    `select coalesce(extract(epoch from clock_timestamp() - min(created_at)::timestamptz) * 1000, 0)::float8 as ms
     from audit_events where seq is null`,
  );
  return row!.ms;
};

/** The test's own limit ends what is never sealed. */
async function untilSealed(): Promise<void> {
  while ((await oldestMs()) > 0) await sleep(10);
}

describe('sealers in their workers (AU-13)', () => {
  // How soon is measured by `bench/run.mjs audit-sealing`: a busy machine has no time of its own.
  it('seal each event by themselves, whenever in their pause it comes', async () => {
    await untilSealed();
    for (let turn = 0; turn < 8; turn += 1) {
      await sleep(turn * 60);
      await writeEvents(sealing.database, [`turn-${turn}`]);
      await untilSealed();
    }
    await readChain(sealing);
  });

  // At 20,000 events a minute, where the machine has time for them; bench/run.mjs audit-sealing measures what one can do.
  it('keep up with several writers', async () => {
    await untilSealed();
    const startedAt = performance.now();
    let written = 0;
    const writer = async (name: number) => {
      for (let turn = 0; written < 2000; turn += 1) {
        const due = ((performance.now() - startedAt) / 1000) * 340;
        if (written >= due) await sleep(5);
        else {
          written += 4;
          await writeEvents(sealing.database, numbered(`${name}.${turn}`, 4));
        }
      }
    };
    await Promise.all([1, 2, 3].map(writer));
    const waiting = await sealing.database.query('select 1 from audit_events where seq is null');
    expect(waiting.length).toBeLessThan(written / 2);
    await untilSealed();
    const names = (await readChain(sealing)).filter(({ event_type }) => event_type === 'config.synced');
    expect(names).toHaveLength(written);
  });
});

describe('a database that has no time for a whole batch', () => {
  it('gets smaller ones, until one fits', async () => {
    await stop();
    const { database } = sealing;
    await writeEvents(database, numbered('slow', 600));
    await sealing.tamper(
      `create function audit_slow() returns trigger language plpgsql as $$ begin
         if (select count(*) from new_rows) > 100 then raise exception 'too many' using errcode = 'query_canceled'; end if; return null;
       end $$`,
      `create trigger audit_slow after update on audit_events referencing new table as new_rows for each statement execute function audit_slow()`,
    );
    const job = createSealer({
      database,
      keys: sealing.keys,
      origin: () => 'svc',
      isAnchored: false,
      log: pino({ level: 'silent' }),
    });
    const sizes: number[] = [];
    for (let turn = 0; turn < 40; turn += 1) {
      await job.once().catch(() => {});
      sizes.push((await database.query('select 1 from audit_events where seq is null')).length);
    }
    expect(sizes[2]).toBe(sizes[0]);
    expect(sizes.at(-1)).toBe(0);
    await readChain(sealing);
  });
});
