import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256Hex } from '../../crypto/hash.js';
import { openResultStore } from '../../runtime/open-result-store.js';
import type { ResultStore } from '../../runtime/result-store.js';
import { openS3ResultStore } from '../../runtime/result-store-s3.js';
import { type S3Config, s3Client, s3Storage } from '../support/s3.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

let store: ResultStore;
const textOf = async (key: string) => {
  const parts = [];
  for await (const part of (await store.read(key)) ?? []) parts.push(part);
  return Buffer.concat(parts).toString();
};
const keysOf = async (of = store) => {
  const keys = [];
  for await (const { key } of of.objects()) keys.push(key);
  return keys.sort();
};

function keepsResults(): void {
  it('gives back the bytes it was given, with their length and hash', async () => {
    const text = '{"a":"zu groß 🚫","b":12345678901234567890}';
    const put = await store.put('r1/one', Buffer.from(text));
    expect(put).toEqual({ sha256: sha256Hex(text), length: Buffer.byteLength(text), existed: false });
    expect(await textOf('r1/one')).toBe(text);
    expect(await store.has('r1/one')).toBe(true);
  });

  it('keeps 10 MiB and the empty text', async () => {
    const text = 'ü'.repeat(5 * 1024 * 1024);
    await store.put('r1/large', Buffer.from(text));
    expect(sha256Hex(await textOf('r1/large'))).toBe(sha256Hex(text));
    expect((await store.put('r1/empty', Buffer.from(''))).length).toBe(0);
    expect(await textOf('r1/empty')).toBe('');
  });

  it('takes the same text again, and no other under the same key (RS-50)', async () => {
    expect((await store.put('r2/twice', Buffer.from('a'))).existed).toBe(false);
    expect(await store.put('r2/twice', Buffer.from('a'))).toEqual({ sha256: sha256Hex('a'), length: 1, existed: true });
    await expect(store.put('r2/twice', Buffer.from('b'))).rejects.toMatchObject({ code: 'execution.conflict' });
    expect(await textOf('r2/twice')).toBe('a');
  });

  it('lets one of two writers at the same time win, and tells the other (RS-50)', async () => {
    for (let round = 0; round < 5; round += 1) {
      const key = `r3/race-${round}`;
      const ends = await Promise.allSettled(['a', 'b', 'a', 'b'].map((text) => store.put(key, Buffer.from(text))));
      const winner = await textOf(key);
      ends.forEach((end, index) => {
        if ('ab'[index % 2] === winner) expect(end.status).toBe('fulfilled');
        else expect(end).toMatchObject({ status: 'rejected', reason: { code: 'execution.conflict' } });
      });
    }
  });

  it('says that an object is not there, and removes it without an error', async () => {
    expect(await store.read('r4/none')).toBeNull();
    expect(await store.has('r4/none')).toBe(false);
    await store.put('r4/brief', Buffer.from('x'));
    await store.remove('r4/brief');
    await store.remove('r4/brief');
    expect(await store.read('r4/brief')).toBeNull();
    await store.put('r4/brief', Buffer.from('y'));
    expect(await textOf('r4/brief')).toBe('y');
  });

  it('lists all that it holds, with the instant of writing (RS-49)', async () => {
    for (const key of await keysOf()) await store.remove(key);
    const since = Date.now() - 5000;
    for (const key of ['r5/a', 'r5/b', 'r6/a']) await store.put(key, Buffer.from(key));
    expect(await keysOf()).toEqual(['r5/a', 'r5/b', 'r6/a']);
    for await (const { modifiedAt } of store.objects()) expect(modifiedAt).toBeGreaterThan(since);
  });

  it('is healthy', async () => {
    expect(await store.healthy()).toBe(true);
  });
}

describe('the local result store', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-results-'));
    store = await openResultStore({ resultStorage: { ...local, rootDir: join(folder, 'results') } });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  keepsResults();

  it('leaves nothing but the object behind, and the folder of a request goes with its last one', async () => {
    await store.put('r7/one', Buffer.from('x'));
    expect(await readdir(join(folder, 'results/r7'))).toEqual(['one']);
    await store.remove('r7/one');
    expect(await readdir(join(folder, 'results'))).not.toContain('r7');
  });

  it('shows what a broken write left, so that it can be removed (RS-49)', async () => {
    await store.put('r8/one', Buffer.from('x'));
    await writeFile(join(folder, 'results/r8/two.0.tmp'), 'hal');
    expect(await keysOf()).toContain('r8/two.0.tmp');
  });

  it('writes while empty folders are being removed', async () => {
    for (let round = 0; round < 60; round += 1) {
      let isWriting = true;
      const clean = async () => {
        while (isWriting) await store.remove(`r9-${round}/none`);
      };
      const cleaning = [clean(), clean(), clean()];
      const written = ['a', 'b', 'c', 'd'].map((name) => store.put(`r9-${round}/${name}`, Buffer.from('x')));
      const ends = await Promise.allSettled(written);
      isWriting = false;
      await Promise.all(cleaning);
      expect(ends.filter(({ status }) => status === 'rejected')).toEqual([]);
    }
    expect((await keysOf()).filter((key) => key.startsWith('r9-'))).toHaveLength(240);
  });

  it('refuses keys that lead out of it', async () => {
    await expect(store.read('../other')).rejects.toThrow('outside');
    await expect(async () => store.put('a/../../b', Buffer.from('x'))).rejects.toThrow('outside');
  });

  it('is unhealthy once its directory is gone', async () => {
    const [there, elsewhere] = [join(folder, 'results'), join(folder, 'elsewhere')];
    await rename(there, elsewhere);
    try {
      expect(await store.healthy()).toBe(false);
    } finally {
      await rename(elsewhere, there);
    }
  });
});

const local: S3Config = {
  backend: 'local',
  rootDir: '',
  bucket: '',
  region: '',
  prefix: '',
  endpoint: null,
  accessKeyId: null,
  secretAccessKey: null,
  pathStyle: false,
  maxPersistBytes: 10_485_760,
};
const s3 = await s3Storage(import.meta.url);

describe.skipIf(s3 === null)('the S3 result store', () => {
  const config = s3 as S3Config;
  beforeAll(async () => {
    store = await openResultStore({ resultStorage: config });
  });

  keepsResults();

  it('sees nothing outside its prefix', async () => {
    await s3Client(config).send(new PutObjectCommand({ Bucket: config.bucket, Key: 'other/r10/one', Body: 'x' }));
    await store.put('r10/one', Buffer.from('y'));
    expect(await keysOf()).not.toContain('other/r10/one');
    expect(await textOf('r10/one')).toBe('y');
    const whole = openS3ResultStore({ ...config, prefix: '' });
    expect(await keysOf(whole)).toContain('results/r10/one');
  });

  it('lists more than one page', async () => {
    const pages = await s3Storage(import.meta.url);
    const many = openS3ResultStore(pages as S3Config);
    // Each connects within 2 s, also on a busy machine.
    for (let index = 0; index < 1010; index += 10)
      await Promise.all(Array.from({ length: 10 }, (_, place) => many.put(`r/${index + place}`, Buffer.from(''))));
    expect(await keysOf(many)).toHaveLength(1010);
  });

  it('is not ready and refuses work while the server does not answer, with bad keys and without its bucket', async () => {
    const proxy = await startTcpProxy(config.endpoint!);
    const proxied = openS3ResultStore({ ...config, endpoint: proxy.url });
    expect(await proxied.healthy()).toBe(true);
    proxy.cut();
    expect(await proxied.healthy()).toBe(false);
    await expect(proxied.put('r1/away', Buffer.from('x'))).rejects.toThrow();
    await expect(proxied.read('r1/away')).rejects.toThrow();
    proxy.heal();
    await proxied.put('r1/away', Buffer.from('x'));
    await proxy.close();

    const refused = openS3ResultStore({ ...config, secretAccessKey: 'wrong' });
    expect(await refused.healthy()).toBe(false);
    await expect(refused.read('r1/one')).rejects.toMatchObject({ name: 'SignatureDoesNotMatch' });

    const lost = (await s3Storage(import.meta.url)) as S3Config;
    const without = openS3ResultStore(lost);
    await s3Client(lost).send(new DeleteBucketCommand({ Bucket: lost.bucket }));
    expect(await without.healthy()).toBe(false);
    await expect(without.put('r1/one', Buffer.from('x'))).rejects.toMatchObject({ name: 'NoSuchBucket' });
  });
});
