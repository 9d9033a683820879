import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

const faults = (...words: string[]) =>
  spawnSync(process.execPath, [new URL('../../dev/faults.mjs', import.meta.url).pathname, ...words], { encoding: 'utf8' });

it.each([
  { words: ['--seed', 'x'], says: '--seed: not a number: x' },
  { words: ['--minutes=-1'], says: '--minutes: not a number: -1' },
  { words: ['--minutes'], says: "Option '--minutes <value>' argument missing" },
  { words: ['--hours', '1'], says: "Unknown option '--hours'" },
  { words: ['12'], says: "Unexpected argument '12'" },
])('npm run faults refuses $words and says how it is called', ({ words, says }) => {
  const { status, stderr } = faults(...words);
  expect([status, stderr]).toEqual([2, expect.stringContaining(says)]);
  expect(stderr).toContain('usage: npm run faults');
});
