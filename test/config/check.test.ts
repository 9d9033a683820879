import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type ConfigCheckOptions, runConfigCheck } from '../../config/check.js';
import { MINIMAL } from './support.js';

const directory = mkdtempSync(join(tmpdir(), 'svc-check-'));
afterAll(() => rmSync(directory, { recursive: true }));
let files = 0;

async function check(text: string, options: ConfigCheckOptions = {}) {
  const config = join(directory, `${files++}.toml`);
  writeFileSync(config, text);
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line.replaceAll(config, 'server.toml'));
  return { code: await runConfigCheck({ config, ...options }, { environment: {}, print, printError: print }), lines };
}

const quiet = `${MINIMAL}[mcp]\nenabled = false\n`;

describe('svc config check (CF-61)', () => {
  it('tells errors in the form file:line:column: key: message (hint), and answers 1', async () => {
    expect(await check(`${MINIMAL}pool_mx = 5`)).toEqual({
      code: 1,
      lines: [
        'server.toml:4:1: database.pool_mx: unknown key (did you mean pool_max?)',
        'warning: server.toml:1:1: mcp.default_environment: no database has the environment development',
        'server.toml: 1 error, 1 warning',
      ],
    });
  });

  it('answers 0 for a valid file with warnings, and 1 with --strict', async () => {
    expect((await check(quiet)).code).toBe(0);
    expect((await check(quiet, { strict: true })).code).toBe(1);
  });

  it('prints one JSON object with --format json', async () => {
    const { code, lines } = await check(`${quiet}[servr]`, { format: 'json' });
    expect(code).toBe(1);
    expect(JSON.parse(lines.join(''))).toEqual({
      ok: false,
      errors: [{ file: 'server.toml', line: 6, column: 1, key: 'servr', message: 'unknown key', hint: 'did you mean server?' }],
      warnings: [{ file: 'server.toml', line: 4, column: 1, key: 'mcp', message: 'not available in this version', hint: null }],
      changes: null,
    });
  });

  it('refuses --online in one sentence', async () => {
    expect(await check(quiet, { online: true })).toEqual({
      code: 2,
      lines: ['svc config check --online is not available in this version'],
    });
  });
});
