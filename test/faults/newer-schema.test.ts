import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asSuperuser } from '../support/own-postgres.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { type System, startSystem } from '../support/system.js';
import { temporalAddress } from '../support/temporal.js';
import { type PatientCalls, patientCalls } from './calls.js';
import { countAll } from './count.js';
import { startLoad } from './load.js';
import { waitMs } from './looks.js';

let stored: TestDatabase;
let system: System;
let calls: PatientCalls;
beforeAll(async () => {
  stored = await createTestDatabase();
  system = await startSystem({ databaseUrl: stored.url, temporalAddress: await temporalAddress() });
  calls = patientCalls(system);
}, 240_000);
afterAll(async () => {
  await system?.close();
  await stored?.drop();
});

/** What the next version may do to every table (test/db/additions.ts). Each has a transaction of its own: a lock on all would be a deadlock under load. */
async function addLater(): Promise<void> {
  await asSuperuser(stored.adminUrl, async (client) => {
    const tables = `select quote_ident(relname) as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`;
    const { rows } = await client.query<{ name: string }>(`${tables} and relname <> 'schema_migrations'`);
    for (const { name } of rows) await client.query(`alter table ${name} add column added_later text not null default 'later'`);
    await client.query('create table later (id bigint primary key)');
    await client.query(applied('9998_more'));
  });
}

const applied = (name: string) => `insert into schema_migrations (name, run_on) values ('${name}', now())`;

const ready = async () => {
  const answer = await fetch(`${system.servers[0]!.url}/ready`);
  return { status: answer.status, database: ((await answer.json()) as { checks: { database: string } }).checks.database };
};

/** What is wrong after a load of all kinds of requests, and what is done meanwhile. */
async function findingsOf(seed: number, meanwhile: () => Promise<void> = async () => {}): Promise<string[]> {
  const load = startLoad(system, calls, { callers: 3, seed });
  await eventually(() => load.played.length >= 12, waitMs);
  await meanwhile();
  await eventually(() => load.played.length >= 48, 4 * waitMs);
  await load.stop(AbortSignal.timeout(waitMs));
  return (await countAll(system, calls, load)).findings;
}

// Each test has the schema that those before it have made.
describe('a schema to which a newer version has added (OP-54)', { shuffle: false }, () => {
  it('does not disturb the programs of this version that run: requests go their way, and /ready says ok (OP-10)', async () => {
    expect(await findingsOf(1, addLater)).toEqual([]);
    expect(await ready()).toEqual({ status: 200, database: 'ok' });
  }, 600_000);

  it('lets them start again, as after an upgrade that is taken back', async () => {
    const programs = [...system.servers, ...system.workers, ...system.agents];
    await Promise.all(programs.map((program) => program.kill()));
    for (const program of programs) await program.start();
    expect(await findingsOf(2)).toEqual([]);
  }, 600_000);

  it('that breaks them takes them out of a proxy: /ready is 503 (OP-10)', async () => {
    await asSuperuser(stored.adminUrl, (client) => client.query(applied('9999_breaking_less')));
    await expect.poll(ready, { timeout: waitMs }).toEqual({ status: 503, database: 'schema_mismatch' });
  });
});
