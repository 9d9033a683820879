import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

export const sourceFolders = [
  'activities',
  'agent',
  'api',
  'cli',
  'config',
  'crypto',
  'db',
  'dev',
  'domain',
  'lib',
  'runtime',
  'sql',
  'tracing',
  'worker',
  'workflows',
];

/** A build by other code is another build. */
export const buildFiles = [
  'bin/build.mjs',
  'bin/client.cjs',
  'bin/console.mjs',
  'bin/dist.mjs',
  'bin/lock.mjs',
  'bin/sources.mjs',
];

/** Changes with any source's name, size or time. Computed before every start of a program other than the client: 10 ms for 700 files. */
export function sourceSignature(folders) {
  const files = [...sourceFiles(folders), 'package.json', ...buildFiles];
  const lines = files.map((file) => {
    const { size, mtimeMs } = statSync(`${root}/${file}`);
    return `${file} ${size} ${mtimeMs}\n`;
  });
  return createHash('sha256').update(lines.join('')).digest('hex');
}

/** Relative to the root. */
export function sourceFiles(folders) {
  const files = [];
  for (const folder of folders) walk(folder, files);
  return files.sort();
}

function walk(folder, files) {
  if (!existsSync(`${root}/${folder}`)) return;
  for (const entry of readdirSync(`${root}/${folder}`, { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) walk(path, files);
    else if (/\.(tsx?|css|html|svg)$/.test(entry.name)) files.push(path);
  }
}

/** Changes to a source outside the listed folders would not trigger a build. */
export function checkFolders(inputs) {
  const stray = inputs.find(
    (file) => !sourceFolders.includes(file.split('/')[0]) && !file.startsWith('bin/') && file !== 'package.json',
  );
  if (stray) throw new Error(`${stray}: its folder is missing in sourceFolders of bin/sources.mjs`);
}
