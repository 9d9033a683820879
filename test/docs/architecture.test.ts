import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withCurrentRooms } from '../../dev/rooms-file.js';
import { root, textOf } from './rule-book.js';

const page = textOf('docs/architecture.md');
const spans = [...page.matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!);

describe('docs/architecture.md', () => {
  it('draws the rooms as the rules of imports are (npx tsx dev/rooms-file.ts draws them)', () => {
    expect(page).toContain('["domain"]');
    expect(page).toMatch(/^\| `workflows` \| types of `domain` \| `@temporalio\/common`, `@temporalio\/workflow` \| no \|$/m);
    expect(withCurrentRooms(page)).toBe(page);
  });

  it('names files and folders that exist', () => {
    const top = new Set(readdirSync(root));
    const paths = spans.filter((text) => /^[\w.-]+(\/[\w.-]*)+$/.test(text) || /^[\w.-]+\.(ts|md|cjs|example)$/.test(text));
    expect(paths.length).toBeGreaterThan(60);
    expect(paths.filter((path) => !top.has(path.split('/')[0]!) || !existsSync(join(root, path)))).toEqual([]);
  });

  it('names commands whose files exist', () => {
    const commands = spans.flatMap((text) => /^npx tsx (\S+)$/.exec(text)?.[1] ?? []);
    expect(commands.length).toBeGreaterThan(2);
    expect(commands.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe('docs/glossary.md', () => {
  const rows = [...textOf('docs/glossary.md').matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)]
    .map(([, word, meaning]) => ({ word: word!, meaning: meaning! }))
    .slice(1);
  const words = rows.map(({ word }) => word);

  it('has each word once, sorted', () => {
    expect(words.length).toBeGreaterThan(50);
    expect(words).toEqual([...new Set(words)].toSorted());
  });

  it('has one sentence for each', () => {
    expect(rows.filter(({ meaning }) => /[.!?] [A-Z]|\.$/.test(meaning))).toEqual([]);
  });
});
