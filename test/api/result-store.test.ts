import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLocalResultStore, type ResultStore } from '../../api/result-store.js';
import { sha256Hex } from '../../crypto/hash.js';

let folder: string;
let store: ResultStore;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-results-'));
  store = await openLocalResultStore(join(folder, 'results'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the local result store', () => {
  it('gives back the bytes it was given, with their length and hash', async () => {
    const text = '{"a":"zu groß 🚫","b":12345678901234567890}';
    const put = await store.put('2031/01/one', text);
    expect(put).toEqual({ sha256: sha256Hex(text), length: Buffer.byteLength(text) });
    expect((await store.get('2031/01/one'))?.toString()).toBe(text);
    expect(await readdir(join(folder, 'results/2031/01'))).toEqual(['one']);
  });

  it('takes the same text again, and no other under the same key (RS-50)', async () => {
    await store.put('twice', 'a');
    expect((await store.put('twice', 'a')).length).toBe(1);
    await expect(store.put('twice', 'b')).rejects.toMatchObject({ code: 'execution.conflict' });
    expect((await store.get('twice'))?.toString()).toBe('a');
  });

  it('knows what is not there, and removes it without error', async () => {
    expect(await store.get('none')).toBeNull();
    await store.put('brief', 'x');
    await store.remove('brief');
    await store.remove('brief');
    expect(await store.get('brief')).toBeNull();
  });

  it('refuses keys that lead out of it', async () => {
    await expect(async () => store.get('../other')).rejects.toThrow('outside');
    await expect(async () => store.put('a/../../b', 'x')).rejects.toThrow('outside');
  });

  it('is unhealthy once its directory is gone', async () => {
    expect(await store.healthy()).toBe(true);
    await rm(join(folder, 'results'), { recursive: true });
    expect(await store.healthy()).toBe(false);
  });
});
