import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { type S3Config, s3Client, s3Storage, s3Toml } from '../support/s3.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { large } from './large-result.js';

const s3 = await s3Storage(import.meta.url);

describe.skipIf(s3 === null)('results in S3', () => {
  const config = s3 as S3Config;
  let proxy: TcpProxy;
  let api: TestApi;
  let calls: GatewayCalls;
  let owner: string;
  beforeAll(async () => {
    proxy = await startTcpProxy(config.endpoint!);
    const toml = `${callsToml}\n${s3Toml({ ...config, endpoint: proxy.url })}`;
    api = await startTestApi({ toml, times: { resultWaitMs: 100 } });
    calls = gatewayCalls(api);
    owner = await api.createUser('owner', { roles: ['requester'] });
    await calls.poll(['shop/staging']);
  });
  afterAll(async () => {
    await api?.close();
    await proxy?.close();
  });

  const small = '{"rows":[{"id":9007199254740993,"a":1,"a":2}],"truncated":false}';
  const rows = large(small);

  it('come back byte for byte, also from several pieces and as text that is no JSON (RS-10, RS-11)', async () => {
    for (const data of [rows, JSON.stringify(['é'.repeat(2_000_000)])]) {
      const { id, executionId } = await calls.run(owner, {}, { success: true, result_data: data });
      for (const answer of [await calls.content(owner, id), await calls.stream(owner, id)])
        expect(answer.text.endsWith(`"result_data":${data}}`)).toBe(true);
      const [record] = await calls.sql('select backend, object_key, content_length from results where execution_id = $1', [
        executionId,
      ]);
      expect(record).toEqual({ backend: 's3', object_key: `${id}/${executionId}`, content_length: Buffer.byteLength(data) });
    }
    const text = 'no json'.repeat(10_000);
    const { id } = await calls.run(owner, {}, { success: true, result_data: text });
    expect((await calls.content(owner, id)).body.result_data).toBe(text);
  });

  it('are 503 while the store is away, at submission too, and ready says so; then all goes on (RS-37, OP-10)', async () => {
    const done = await calls.run(owner, {}, { success: true, result_data: rows });
    const id = await calls.created(owner, { environment: 'staging' });
    const { executionId } = await calls.claimed(id);
    proxy.cut();
    const submission = { success: true, result_data: rows };
    for (const answer of [await calls.content(owner, done.id), await calls.submit(executionId, submission)])
      expect([answer.status, answer.body.code]).toEqual([503, 'service.unavailable']);
    const ready = await api.call('GET', '/ready');
    expect([ready.status, ready.body.checks.result_storage]).toEqual([503, 'unavailable']);
    expect((await calls.show(owner, id)).body.status).toBe('running');
    proxy.heal();
    expect((await calls.submit(executionId, submission)).body.status).toBe('executed');
    expect((await calls.content(owner, id)).text).toContain(rows);
    expect((await calls.content(owner, done.id)).status).toBe(200);
    expect(api.logged.some((line) => line.includes(config.secretAccessKey!))).toBe(false);
  }, 40_000);

  it('are stored and read as ever while the store is away if they are small (RS-63)', async () => {
    const before = await calls.run(owner, {}, { success: true, result_data: small });
    proxy.cut();
    const during = await calls.run(owner, {}, { success: true, result_data: small });
    for (const { id } of [before, during])
      for (const answer of [await calls.content(owner, id), await calls.stream(owner, id)])
        expect(answer.text.endsWith(`"result_data":${small}}`)).toBe(true);
    expect((await api.call('GET', '/ready')).body.checks.result_storage).toBe('unavailable');
    proxy.heal();
    expect(await calls.sql('select backend, object_key from results where request_id = $1', [during.id])).toEqual([
      { backend: 'database', object_key: null },
    ]);
  }, 40_000);

  it('are 500 when an object is changed or missing (RS-36)', async () => {
    const damages = [
      (Key: string) => new PutObjectCommand({ Bucket: config.bucket, Key, Body: rows.replace('3', '4') }),
      (Key: string) => new DeleteObjectCommand({ Bucket: config.bucket, Key }),
    ];
    for (const damage of damages) {
      const { id, executionId } = await calls.run(owner, {}, { success: true, result_data: rows });
      await s3Client(config).send(damage(`${config.prefix}/${id}/${executionId}`));
      expect((await calls.content(owner, id)).status).toBe(500);
    }
  });

  it('are written once: what another submission left under the key is not replaced (RS-50)', async () => {
    const id = await calls.created(owner, { environment: 'staging' });
    const { executionId } = await calls.claimed(id);
    const Key = `${config.prefix}/${id}/${executionId}`;
    await s3Client(config).send(new PutObjectCommand({ Bucket: config.bucket, Key, Body: large('"first"') }));
    const other = await calls.submit(executionId, { success: true, result_data: large('"second"') });
    expect([other.status, other.body.code]).toEqual([409, 'execution.conflict']);
    expect((await calls.submit(executionId, { success: true, result_data: large('"first"') })).status).toBe(200);
    expect((await calls.content(owner, id)).body.result_data).toBe('first');
  });

  it('of another backend are told as such, and never looked for here', async () => {
    const { id, executionId } = await calls.run(owner, {}, { success: true, result_data: rows });
    await calls.sql(`update results set backend = 'local' where execution_id = $1`, [executionId]);
    expect((await calls.content(owner, id)).status).toBe(500);
    expect(api.logged.some((line) => line.includes(executionId) && line.includes('backend local'))).toBe(true);
  });
});
