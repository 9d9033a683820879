import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const loader = fileURLToPath(new URL('node_modules/tsx/dist/loader.mjs', root));
const values = new URL('agent/drivers/values.ts', root).href;

/** Objects of which each takes 20 times its text. */
const script = `
  const { writeJson } = await import(${JSON.stringify(values)});
  const text = '[' + '{},'.repeat(5_000_000) + '{}]';
  console.log(writeJson(Buffer.from(text)) === text);`;

describe('a JSON value as large as a row may be', () => {
  it('AP-72: is passed on without being built: an agent of little memory survives it', async () => {
    const words = ['--max-old-space-size=128', '--import', loader, '--input-type=module', '-e', script];
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: fileURLToPath(root) });
    expect(stdout).toBe('true\n');
  }, 60_000);
});
