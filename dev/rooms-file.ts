import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { withPart } from '../lib/page-part.js';

/** The page with the picture of the rooms. After a change of `dev/import-rules.cjs`, `npx tsx dev/rooms-file.ts` redraws it. */
export const roomsFile = new URL('../docs/architecture.md', import.meta.url);

/** The page with the picture and table of the current import rules. */
export const withCurrentRooms = (page: string): string =>
  withPart(page, 'rooms', `${picture(readRooms())}\n\n${table(readRooms())}\n`);

interface Room {
  name: string;
  /** Our folders, or single files. */
  imports: string[];
  /** Those of which it may import types only. */
  types: string[];
  packages: string[];
  builtins: boolean;
}

interface ImportRule {
  name: string;
  to: { pathNot?: string | string[] };
}

/** The rooms according to the checker's rules: one is named `<room> imports`, another `<room> imports types`; both list what is allowed. */
function readRooms(): Room[] {
  const { forbidden } = createRequire(import.meta.url)('./import-rules.cjs') as { forbidden: ImportRule[] };
  const allowed = new Map(forbidden.map(({ name, to }) => [name, [to.pathNot ?? []].flat().map(plain)]));
  return [...allowed].flatMap(([name, paths]) => {
    const [, room] = /^(\S+) imports$/.exec(name) ?? [];
    return room === undefined ? [] : [roomOf(room, paths, allowed.get(`${name} types`) ?? paths)];
  });
}

const plain = (pattern: string) => pattern.replaceAll('\\', '').replace(/^\^/, '');

function roomOf(name: string, paths: readonly string[], typePaths: readonly string[]): Room {
  const packages = paths.flatMap((path) => /^node_modules\/\(@types\/\)\?(.+?)(?:\(\/\|\$\))?$/.exec(path)?.[1] ?? []);
  return {
    name,
    imports: ownOf(paths).filter((one) => one !== name),
    types: ownOf(typePaths.filter((path) => !paths.includes(path))),
    packages: packages.map((one) => (one.endsWith('/') ? `${one}*` : one)),
    builtins: paths.includes('node:'),
  };
}

function ownOf(paths: readonly string[]): string[] {
  const own = paths.flatMap((path) => /^((?:[a-z-]+\/)+(?:[a-z-]+\.m?[tj]s)?)\$?$/.exec(path)?.[1]?.replace(/\/$/, '') ?? []);
  return own.filter((one) => !one.startsWith('node_modules'));
}

/** Omits an arrow when other arrows lead to the same room. */
function picture(rooms: readonly Room[]): string {
  const importsOf = new Map(rooms.map(({ name, imports }) => [name, imports]));
  const arrows = rooms.flatMap(({ name, imports }) =>
    imports
      .filter((one) => !imports.some((other) => importsOf.get(other)?.includes(one)))
      .map((one) => `  ${idOf(name)} --> ${idOf(one)}`),
  );
  const names = [...new Set(rooms.flatMap(({ name, imports }) => [name, ...imports]))];
  const boxes = names.map((name) => `  ${idOf(name)}["${name}"]`);
  const parts = names
    .filter((name) => /\.[a-z]+$/.test(name))
    .map((name) => `  ${idOf(name)} -.- ${idOf(name.replace(/\/[^/]+$/, ''))}`);
  return ['```mermaid', 'flowchart TD', ...boxes, ...arrows, ...parts, '```'].join('\n');
}

const idOf = (name: string) => name.replace(/[^a-z]/g, '_');

function table(rooms: readonly Room[]): string {
  const rows = rooms.map(({ name, imports, types, packages, builtins }) => {
    const ours = [...imports.map((one) => code([one])), ...types.map((one) => `types of ${code([one])}`)].join(', ') || '–';
    const cells = [code([name]), ours, code(packages), builtins ? 'yes' : 'no'];
    return `| ${cells.join(' | ')} |`;
  });
  return ['| Room | May import | Packages | Node built-ins |', '|---|---|---|---|', ...rows].join('\n');
}

const code = (names: readonly string[]) => (names.length === 0 ? '–' : names.map((name) => `\`${name}\``).join(', '));

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await writeFile(roomsFile, withCurrentRooms(await readFile(roomsFile, 'utf8')));
