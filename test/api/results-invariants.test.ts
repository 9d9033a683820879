import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRelayCleaner } from '../../worker/relay-cleaner.js';
import type { Answer, TestApi } from '../support/api.js';
import { ownerAndApprover, startCallsOnTwo } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import type { CreationOver, GatewayCalls, Run } from './gateway-calls.js';
import { large } from './large-result.js';

let api: TestApi;
let other: TestApi;
let calls: GatewayCalls;
let elsewhere: GatewayCalls;
let close: () => Promise<void>;
let owner: string;
beforeAll(async () => {
  const toml = `${callsToml}\n[result_storage]\nmax_persist_bytes = 4000000\n[result_channel]\nslot_ttl_secs = 600\n`;
  ({
    api,
    calls,
    other,
    elsewhere,
    close,
    tokens: { owner },
  } = await startCallsOnTwo(ownerAndApprover, ['shop/staging', 'ledger/staging'], { toml }));
});
afterAll(() => close?.());

const data = '{"rows":[{"n":1}]}';
const write = { operation: 'execute_dml', detail: 'update parts set qty = 1 where id = 1' };
const ledger = { database: 'ledger' };

/** Each row of RS-43, results that are too large, and a late one. */
const runs: [name: string, over: CreationOver, result: object, after: number][] = [
  ['RS-43a: a success with data', {}, { success: true, result_data: data }, 200],
  ['RS-43b: a success that is only delivered', ledger, { success: true, result_data: data }, 410],
  ['RS-43c: a success that is not to be stored', { no_result_store: true }, { success: true, result_data: data }, 410],
  ['RS-43d: a success without data', write, { success: true, rows_affected: 2 }, 200],
  ['RS-43e: one that is not to be stored either', { no_result_store: true, ...write }, { success: true, rows_affected: 2 }, 410],
  ['RS-43g: a failure', {}, { success: false, error_message: '42P01: x' }, 200],
  ['RS-43g: a failure that is not to be stored', { no_result_store: true }, { success: false, error_message: '42P01: x' }, 200],
  ['RS-55: a read that is too large', {}, { success: true, result_data: `"${'x'.repeat(4_000_000)}"` }, 200],
  [
    'RS-55: a change whose data is too large',
    write,
    { success: true, rows_affected: 1, result_data: `"${'x'.repeat(4_000_000)}"` },
    200,
  ],
];

describe('RS-I2: what a run ended is never unknown to content afterwards', () => {
  const contents = async ({ id, executionId }: Run) => [
    await calls.content(owner, id),
    await elsewhere.content(owner, id, `?execution_id=${executionId}`),
  ];

  it.each(runs)('RS-I2, %s', async (_name, over, result, after) => {
    const id = await calls.created(owner, { environment: 'staging', ...over });
    const run = await calls.claimed(id);
    const submitted = await calls.submit(run.executionId, result);
    expect([200, 413]).toContain(submitted.status);
    expect(['executed', 'failed']).toContain((await calls.show(owner, id)).body.status);
    for (const answer of await contents(run)) expect(answer.status).toBe(after);
    await calls.sql(`update results set expires_at = clock_timestamp() - interval '1 ms' where request_id = $1`, [id]);
    for (const answer of await contents(run)) expect([200, 410]).toContain(answer.status);
    await calls.sql('delete from results where request_id = $1', [id]);
    await calls.sql('delete from result_relay where request_id = $1', [id]);
    for (const answer of await contents(run)) expect([200, 410]).toContain(answer.status);
  });

  it('RS-I2: a late result, and one that a cancel came too late for', async () => {
    const late = await calls.claimed(await calls.created(owner, { environment: 'staging' }));
    await calls.fireClock(late.id, 'lease');
    await calls.submit(late.executionId, { success: true, result_data: data });
    const committed = await calls.claimed(await calls.created(owner, { environment: 'staging', ...write }));
    await calls.sql('update requests set cancel_requested_at = clock_timestamp(), cancelled_by = $2 where id = $1', [
      committed.id,
      'owner',
    ]);
    await calls.submit(committed.executionId, { success: true, outcome: 'committed', rows_affected: 1 });
    for (const run of [late, committed]) for (const answer of await contents(run)) expect(answer.status).toBe(200);
  });
});

describe('RS-I5: readers of one run', () => {
  it('RS-I5: wait on any processes, and the commit that ends the run ends all of their waits', async () => {
    const id = await calls.created(owner, { environment: 'staging' });
    const { executionId } = await calls.claimed(id);
    const servers = [calls, elsewhere];
    const readers = Array.from({ length: 30 }, (_, index) => patiently(() => servers[index % 2]!.stream(owner, id)));
    const submitted = await patiently(() => calls.submit(executionId, { success: true, result_data: data }));
    expect(submitted.status).toBe(200);
    const answers = await Promise.all(readers);
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]!.text).toContain(data);
  }, 60_000);
});

/** An answer other than the 503 of a machine that is too busy for its database. */
async function patiently(read: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await read();
    if (answer.status !== 503 || tries === 20) return answer;
  }
}

/** The first file below the folder that holds the text. */
async function fileWith(folder: string, text: string): Promise<string | undefined> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    if ((await readFile(path, 'utf8')).includes(text)) return path;
  }
  return undefined;
}

/** The tables of the gateway's database that hold the text in any column. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await calls.sql<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`);
  // Bytes are shown as their hexadecimal digits.
  const forms = [text, Buffer.from(text).toString('hex')].map((form) => `%${form}%`);
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await calls.sql(`select 1 from ${name} t where t::text like any($1::text[]) limit 1`, [forms]);
      return rows.length > 0 ? [name] : [];
    }),
  );
  return found.flat().sort();
}

describe('RS-I6: what is not to be stored', () => {
  /** A value that is nowhere else, and a result with it. */
  const newSecret = () => {
    const secret = `marker-of-a-value-in-no-result-store-${randomUUID()}`;
    return { secret, rows: `{"rows":[{"secret":"${secret}"}]}` };
  };

  it.each<[string, CreationOver]>([
    ['no_result_store', { no_result_store: true }],
    ['delivery stream', ledger],
  ])('RS-I6, RS-62: of %s nothing is found anywhere once its time in the relay is over', async (_what, over) => {
    const { secret, rows } = newSecret();
    const { id } = await calls.run(owner, over, { success: true, result_data: rows });
    expect((await calls.stream(owner, id)).text).toContain(secret);
    expect(await tablesWith(secret)).toEqual(['result_relay']);
    await calls.sql(`update result_relay set expires_at = clock_timestamp() - interval '1 ms'`);
    expect([(await calls.stream(owner, id)).status, (await calls.content(owner, id)).status]).toEqual([410, 410]);
    await createRelayCleaner({ database: api.services.database }).once();
    expect(await tablesWith(secret)).toEqual([]);
    expect(await fileWith(api.stateDir, secret)).toBeUndefined();
    for (const line of [...api.logged, ...other.logged]) expect(line).not.toContain(secret);
    expect((await api.call('GET', '/api/audit/events?limit=200', { token: api.tokens.admin })).text).not.toContain(secret);
    expect((await api.call('GET', '/api/results', { token: owner })).text).not.toContain(id);
  });

  it('the looks of this test would find it if it were stored', async () => {
    const { secret, rows } = newSecret();
    await calls.run(owner, {}, { success: true, result_data: large(rows) });
    expect(await fileWith(api.stateDir, secret)).toContain('/results/');
    expect(await tablesWith(secret)).toEqual([]);
    await calls.run(owner, {}, { success: true, result_data: rows });
    expect(await tablesWith(secret)).toEqual(['results']);
    await calls.run(owner, { detail: `select '${secret}'` }, { success: true, result_data: data });
    expect(await tablesWith(secret)).toContain('requests');
  });
});

describe('RS-I8: a reader costs a fixed buffer', () => {
  it.each<[string, CreationOver]>([
    ['a stored result', {}],
    ['a relayed result', { no_result_store: true }],
  ])(
    'RS-I8: %s of 4 MB comes to several readers in pieces of at most 1 MiB',
    async (_what, over) => {
      const large = `{"rows":["${'aé€😀'.repeat(390_000)}"]}`;
      const { id } = await calls.run(owner, over, { success: true, result_data: large });
      const pieces: number[] = [];
      const { database, results } = api.services;
      const { query } = database;
      const { read } = results;
      database.query = async (text, values) => {
        const found = await query(text, values);
        pieces.push(...found.flatMap((row) => Object.values(row).map(sizeOf)));
        return found as never;
      };
      results.read = async (key) => {
        const found = await read(key);
        return found === null ? null : count(found, pieces);
      };
      const answers = await Promise.all(Array.from({ length: 4 }, () => calls.stream(owner, id)));
      Object.assign(database, { query });
      Object.assign(results, { read });
      for (const answer of answers) expect(answer.text.endsWith(`"result_data":${large}}`)).toBe(true);
      expect(pieces.reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThanOrEqual(4 * Buffer.byteLength(large));
      expect(Math.max(...pieces)).toBeLessThanOrEqual(1024 * 1024);
    },
    60_000,
  );
});

const sizeOf = (value: unknown) => (value instanceof Uint8Array ? value.length : Buffer.byteLength(String(value)));

async function* count(found: AsyncIterable<Uint8Array>, pieces: number[]): AsyncGenerator<Uint8Array> {
  for await (const piece of found) {
    pieces.push(piece.length);
    yield piece;
  }
}
