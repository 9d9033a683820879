import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import type { GatewayCalls, Run } from './gateway-calls.js';
import { large } from './large-result.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let store: string;
beforeAll(async () => {
  ({
    api,
    calls,
    tokens: { owner },
  } = await startCalls(ownerAndApprover, ['shop/staging', 'ledger/staging'], { times: { resultWaitMs: 100 } }));
  store = api.config.resultStorage.rootDir;
});
afterAll(() => api?.close());

const rows = '{"rows":[{"n":9007199254740993}]}';

interface Record {
  backend: string;
  object_key: string | null;
  bytes: number | null;
  content_length: number;
}

async function recordOf({ executionId }: Run): Promise<Record | undefined> {
  const [record] = await calls.sql<Record>(
    'select backend, object_key, octet_length(data) as bytes, content_length from results where execution_id = $1',
    [executionId],
  );
  return record;
}

const isInStore = ({ id, executionId }: Run) =>
  stat(join(store, id, executionId)).then(
    () => true,
    () => false,
  );

/** While the work is done, every use of the store fails. */
async function withoutStore<T>(work: () => Promise<T>): Promise<T> {
  await rename(store, `${store}-away`);
  await writeFile(store, 'no directory');
  try {
    return await work();
  } finally {
    await rm(store);
    await rename(`${store}-away`, store);
  }
}

describe('where data is kept (RS-63)', () => {
  it.each([
    ['65,536 bytes', `["${'é'.repeat(32_766)}"]`, true],
    ['65,537 bytes', `["${'é'.repeat(32_766)}" ]`, false],
    ['no bytes', '', true],
    ['text that is no JSON', 'three "rows" \u0001', true],
    ['more of such text', 'no json '.repeat(10_000), false],
    ['escapes of U+0000 and half a surrogate pair', '["\\u0000\\ud800"]', true],
  ])('data of %s comes back as it was, from the row only when it has at most 64 KiB', async (_what, data, inRow) => {
    const run = await calls.run(owner, {}, { success: true, result_data: data });
    const bytes = Buffer.byteLength(data);
    expect(await recordOf(run)).toEqual(
      inRow
        ? { backend: 'database', object_key: null, bytes, content_length: bytes }
        : { backend: 'local', object_key: `${run.id}/${run.executionId}`, bytes: null, content_length: bytes },
    );
    expect(await isInStore(run)).toBe(!inRow);
    const shown = data.startsWith('[') ? data : JSON.stringify(data);
    for (const answer of [await calls.content(owner, run.id), await calls.stream(owner, run.id)])
      expect(answer.text.endsWith(`"result_data":${shown}}`)).toBe(true);
    const [listed] = (await api.call('GET', '/api/results?limit=1', { token: owner })).body.results;
    expect(listed).toMatchObject({ execution_id: run.executionId, content_length: bytes });
  });

  it('a small object of an earlier version stays readable', async () => {
    const run = await calls.run(owner, {}, { success: true, result_data: rows });
    const key = `${run.id}/${run.executionId}`;
    await api.services.results.put(key, Buffer.from(rows));
    await calls.sql(`update results set backend = 'local', object_key = $2, data = null where execution_id = $1`, [
      run.executionId,
      key,
    ]);
    for (const answer of [await calls.content(owner, run.id), await calls.stream(owner, run.id)])
      expect(answer.text.endsWith(`"result_data":${rows}}`)).toBe(true);
  });

  it('small data is fetched by who reads it, and by nobody else', async () => {
    const run = await calls.run(owner, {}, { success: true, result_data: rows });
    const { database } = api.services;
    const { query } = database;
    let fetched = 0;
    database.query = async (text, values) => {
      const found = await query(text, values);
      fetched += found.flatMap((row) => Object.values(row)).filter((value) => value instanceof Uint8Array).length;
      return found as never;
    };
    try {
      await api.call('GET', '/api/results', { token: owner });
      await calls.list(owner);
      await calls.show(owner, run.id);
      await calls.executions(owner, run.id);
      await api.call('GET', '/metrics', { token: api.tokens.admin });
      expect(fetched).toBe(0);
      await calls.content(owner, run.id);
      expect(fetched).toBe(1);
    } finally {
      Object.assign(database, { query });
    }
  });

  it.each([
    ['no_result_store', { no_result_store: true }],
    ['delivery stream', { database: 'ledger' }],
  ])('small data under %s is passed on and not stored (RS-43b, RS-43c)', async (_what, over) => {
    const run = await calls.run(owner, over, { success: true, result_data: rows });
    expect((await calls.stream(owner, run.id)).text).toContain(rows);
    expect(await recordOf(run)).toBeUndefined();
    expect((await calls.content(owner, run.id)).status).toBe(410);
  });

  it('small data of a result that came too late is not stored (AG-44)', async () => {
    const late = await calls.claimed(await calls.created(owner, { environment: 'staging' }));
    await calls.fireClock(late.id, 'lease');
    await calls.act(owner, late.id, 'resume');
    const own = await calls.claimed(late.id);
    expect((await calls.submit(late.executionId, { success: true, result_data: rows })).status).toBe(410);
    expect(await recordOf(late)).toBeUndefined();
    expect((await calls.submit(own.executionId, { success: true, result_data: '[2]' })).status).toBe(200);
    expect((await calls.content(owner, late.id)).text).toContain('"result_data":[2]}');
  });
});

describe('bytes in a row that are not those recorded (RS-36)', () => {
  it.each([
    ['changed', 'set_byte(data, 3, 0)'],
    ['cut', 'substring(data for 3)'],
    ['emptied', `''`],
  ])('are 500 without a reason when they were %s, and the log says so', async (_how, damage) => {
    const { id, executionId } = await calls.run(owner, {}, { success: true, result_data: rows });
    await calls.sql(`update results set data = ${damage} where execution_id = $1`, [executionId]);
    expect((await calls.content(owner, id)).body).toMatchObject({ error: 'internal server error', code: 'internal' });
    expect(api.logged.some((line) => line.includes(executionId) && line.includes('backend database'))).toBe(true);
  });
});

describe('while the result store is away', () => {
  it('large results are 503; nothing changes, and the retry is accepted (AG-48, RS-37)', async () => {
    const before = await calls.run(owner, {}, { success: true, result_data: large(rows) });
    const run = await calls.claimed(await calls.created(owner, { environment: 'staging' }));
    const body = { success: true, result_data: large('{"kept":true}') };
    const [refused, unread] = await withoutStore(async () => [
      await calls.submit(run.executionId, body),
      await calls.content(owner, before.id),
    ]);
    for (const answer of [refused!, unread!]) expect([answer.status, answer.body.code]).toEqual([503, 'service.unavailable']);
    expect((await calls.show(owner, run.id)).body.status).toBe('running');
    expect((await calls.submit(run.executionId, body)).body.status).toBe('executed');
    expect((await calls.content(owner, before.id)).status).toBe(200);
  });

  it('small ones are stored and read as ever (RS-63)', async () => {
    const before = await calls.run(owner, {}, { success: true, result_data: rows });
    await withoutStore(async () => {
      const during = await calls.run(owner, {}, { success: true, result_data: rows });
      for (const { id } of [before, during])
        for (const answer of [await calls.content(owner, id), await calls.stream(owner, id)]) expect(answer.text).toContain(rows);
    });
  });
});
