import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { describeColumns } from '../../agent/drivers/postgres/values.js';

const root = new URL('../../', import.meta.url);
const loader = fileURLToPath(new URL('node_modules/tsx/dist/loader.mjs', root));
const drivers = new URL('agent/drivers/', root).href;

/** Prints what `script` does in a process with little memory. */
async function ranWithin128MiB(script: string): Promise<string> {
  const words = ['--max-old-space-size=128', '--import', loader, '--input-type=module', '-e', script];
  return (await promisify(execFile)(process.execPath, words, { cwd: fileURLToPath(root) })).stdout;
}

describe('AP-72: a value as large as a row may be, of many small parts', () => {
  it('as JSON is passed on without being built', async () => {
    const script = `
      const { writeJson } = await import('${drivers}values.ts');
      const text = '[' + '{},'.repeat(5_000_000) + '{}]';
      console.log(writeJson(Buffer.from(text)) === text);`;
    expect(await ranWithin128MiB(script)).toBe('true\n');
  }, 60_000);

  it('as an array is written without its parts being kept apart', async () => {
    const script = `
      const { readArray } = await import('${drivers}postgres/array.ts');
      const text = '{' + 'a,'.repeat(7_500_000) + 'a}';
      const json = readArray(text, ',', (item) => JSON.stringify(item));
      console.log(json.length, json.slice(0, 8), json.slice(-8));`;
    expect(await ranWithin128MiB(script)).toBe('30000005 ["a","a" "a","a"]\n');
  }, 60_000);

  it.each([
    ['int4[]', 1007, '{1,NULL,-3}', '[1,null,-3]'],
    ['float8[]', 1022, '{1e-07,NaN}', '[1e-07,"NaN"]'],
    ['bool[]', 1000, '{t,f}', '[true,false]'],
    ['text[]', 1009, '{a,"NULL","b\\"",""}', '["a","NULL","b\\"",""]'],
  ])('as an array %s is written without bytes for each element, which hold up heartbeats', async (_, typeOid, text, json) => {
    const bytes = Buffer.from(text);
    const column = { name: 'a', typeOid };
    const { writers } = await describeColumns([column], undefined as never);
    const copied = vi.spyOn(Buffer, 'from');
    try {
      expect([writers[0]?.(bytes), copied.mock.calls]).toEqual([json, []]);
    } finally {
      copied.mockRestore();
    }
  });
});
