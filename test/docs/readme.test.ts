import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
const beside = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'deploy/helm/README.md'];
const pages = [...beside, ...inDocs.map((name) => `docs/${name}`)];
const textOf = (page: string) => readFileSync(join(root, page), 'utf8');
const withoutBlocks = (page: string) => textOf(page).replace(/^ *```[^\n]*\n.*?^ *```$/gms, '');

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (page: string) =>
  [...withoutBlocks(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe.each(pages)('%s', (page) => {
  it('links to files and headings that exist', () => {
    const text = withoutBlocks(page).replace(/`[^`\n]*`/g, '');
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)];
    const isDead = ([, path, anchor]: readonly string[]) => {
      const target = path ? join(dirname(page), path) : page;
      return !existsSync(join(root, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    };
    expect(links.filter(isDead).map(([link]) => link)).toEqual([]);
  });

  it('names npm scripts and benches that exist', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    const named = [...textOf(page).matchAll(/npm (?:run )?(start|demo|test|proofs|check|build)\b/g)].map(([, name]) => name!);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
    const benches = [...textOf(page).matchAll(/bench\/run\.mjs ([a-z-]+)/g)].map(([, name]) => `bench/${name}.ts`);
    expect(benches.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });
});

it('docs/threat-model.md names tests that exist', () => {
  const named = [...textOf('docs/threat-model.md').matchAll(/`([a-z]+(?:\/[a-z-]+)+)`/g)].map(
    ([, name]) => `test/${name}.test.ts`,
  );
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

it('README.md links every page of docs, the one on rules those of the rules', () => {
  const text = textOf('README.md');
  const rules = textOf('docs/rules/README.md');
  const linked = (page: string) =>
    page.startsWith('docs/rules/') ? rules.includes(`](${basename(page)})`) : text.includes(`](${page})`);
  expect(pages.filter((page) => page.startsWith('docs/') && !linked(page) && page !== 'docs/rules/README.md')).toEqual([]);
  expect(text).toContain('](docs/rules/README.md)');
});

it('README.md names every switch that test files read', () => {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.test.ts'),
  );
  const read = files.flatMap((file) => textOf(`test/${file}`).match(/SVC_TEST_[A-Z]+(?:_[A-Z]+)*/g) ?? []);
  const unnamed = new Set(read.filter((name) => !textOf('README.md').includes(name)));
  // Passed to processes that tests start, or by npm scripts.
  expect([...unnamed].toSorted()).toEqual(['SVC_TEST_CLOCK_FILE', 'SVC_TEST_FAULTS', 'SVC_TEST_LOADED', 'SVC_TEST_NOT_RUN']);
});

it('README.md draws the tree as it is', () => {
  const drawn = [...textOf('README.md').matchAll(/^([a-z]+)\/ {2,}/gm)].map(([, folder]) => folder!);
  const folders = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .filter((name) => !['node_modules', 'dist', 'release', 'docs', 'coverage'].includes(name));
  expect(drawn.toSorted()).toEqual(folders.toSorted());
});
