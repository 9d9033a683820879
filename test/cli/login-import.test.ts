import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('no other command loads what speaks to a provider: one file does, when it is needed', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const files = readdirSync(join(root, 'cli'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const textOf = (file: string) => readFileSync(join(root, 'cli', file), 'utf8');
  expect(files.filter((file) => /await import\('openid-client'\)/.test(textOf(file)))).toEqual(['login/provider.ts']);
  expect(files.filter((file) => /^import (?!type)[^;]*'openid-client'/m.test(textOf(file)))).toEqual([]);
});
