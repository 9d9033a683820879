import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { takeLock } from './lock.mjs';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');

const sourceFolders = [
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
  'worker',
  'workflows',
];
/** Programs started by name. Every `*-worker.ts` is an entry too, because a worker thread needs its own file. */
const entries = ['cli/main.ts', 'agent/main.ts', 'dev/demo.ts', 'dev/get-temporal.ts'];
const lockWaitMs = 120_000;

/**
 * The folder with the programs built from the current sources; builds them when a source has changed since the last build. Each
 * build has its own folder, so that running processes keep the chunks they have not loaded yet.
 */
export async function currentBuild() {
  const signature = sourceSignature(sourceFolders);
  const ready = builtFolder('build.json', signature);
  if (ready) return ready;
  return underLock('build.lock', () => builtFolder('build.json', signature) ?? buildPrograms(signature));
}

/** The file with the bundled Temporal workflows; rebuilt (about 3 s) only when `workflows/` has changed. */
export async function workflowBundle() {
  const file = join(dist, 'workflow-bundle.js');
  const signature = sourceSignature(['workflows']);
  const isReady = () => existsSync(file) && readStamp('workflow-bundle.json')?.signature === signature;
  if (isReady()) return file;
  return underLock('workflow-bundle.lock', () => (isReady() ? file : bundleWorkflows(file, signature)));
}

async function buildPrograms(signature) {
  const startedAt = Date.now();
  say('building the programs ...');
  const folder = `${startedAt.toString(36)}-${process.pid}`;
  const { build, stop } = await import('esbuild');
  const result = await build({
    absWorkingDir: root,
    entryPoints: entryPoints(),
    outdir: join(dist, folder),
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: true,
    logLevel: 'silent',
    metafile: true,
    plugins: [fileUrls],
  }).catch((error) => error);
  await stop();
  if (result.errors.length > 0) {
    rmSync(join(dist, folder), { recursive: true, force: true });
    throw new Error(`the sources cannot be built\n${result.errors.map(describe).join('\n')}`);
  }
  checkFolders(Object.keys(result.metafile.inputs));
  const previous = readStamp('build.json')?.folder;
  writeStamp('build.json', { folder, signature });
  removeOldBuilds([folder, previous]);
  say(`built in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  return join(dist, folder);
}

async function bundleWorkflows(file, signature) {
  say('bundling the workflows ...');
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  const workflowsPath = join(root, 'workflows/index.ts');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  replaceFile(file, code);
  writeStamp('workflow-bundle.json', { signature });
  return file;
}

/** All output goes to one folder, so that code finds a worker thread's file beside itself, whatever chunk it ends up in. */
function entryPoints() {
  const workers = sourceFiles(sourceFolders).filter((file) => file.endsWith('-worker.ts'));
  const names = [
    ...entries.map((file) => [builtName(file), join(root, file)]),
    ...workers.map((file) => [basename(file, '.ts'), join(root, file)]),
  ];
  return Object.fromEntries(names);
}

/** `cli/main.ts` becomes `cli-main.js`. */
function builtName(source) {
  return source.replace('/', '-').replace(/\.ts$/, '');
}

/** `new URL('<relative>', import.meta.url)` keeps its meaning from the source: a file or folder of the repository. */
const fileUrls = {
  name: 'file-urls',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta.url')) return undefined;
      const contents = text.replace(/new URL\(\s*'(\.[^']*)',\s*import\.meta\.url,?\s*\)/g, (found, name) => {
        const target = resolve(dirname(path), name);
        const slash = name.endsWith('/') ? '/' : '';
        return existsSync(target) ? `new URL('../../${relative(root, target)}${slash}', import.meta.url)` : found;
      });
      return { contents, loader: 'ts' };
    });
  },
};

/** Changes to a source outside the listed folders would not trigger a build. */
function checkFolders(inputs) {
  const stray = inputs.find(
    (file) => !sourceFolders.includes(file.split('/')[0]) && !file.startsWith('bin/') && file !== 'package.json',
  );
  if (stray) throw new Error(`${stray}: its folder is missing in sourceFolders of bin/build.mjs`);
}

/** Changes with any source's name, size or time. Computed before every command: 10 ms for 700 files. */
function sourceSignature(folders) {
  const files = [...sourceFiles(folders), 'package.json', 'bin/build.mjs', 'bin/lock.mjs'];
  const lines = files.map((file) => {
    const { size, mtimeMs } = statSync(`${root}/${file}`);
    return `${file} ${size} ${mtimeMs}\n`;
  });
  return createHash('sha256').update(lines.join('')).digest('hex');
}

/** Relative to the root. */
function sourceFiles(folders) {
  const files = [];
  for (const folder of folders) walk(folder, files);
  return files.sort();
}

function walk(folder, files) {
  if (!existsSync(`${root}/${folder}`)) return;
  for (const entry of readdirSync(`${root}/${folder}`, { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) walk(path, files);
    else if (entry.name.endsWith('.ts')) files.push(path);
  }
}

function builtFolder(stamp, signature) {
  const built = readStamp(stamp);
  return built?.signature === signature && existsSync(join(dist, built.folder)) ? join(dist, built.folder) : null;
}

/** Processes that start together build only once: the others wait and use the first one's build. */
async function underLock(name, work) {
  mkdirSync(dist, { recursive: true });
  const deadline = Date.now() + lockWaitMs;
  for (;;) {
    const lock = takeLock(join(dist, name));
    if (lock.release) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (Date.now() > deadline) throw new Error(`process ${lock.holder} has been building for too long; stop it and start again`);
    await sleep(50);
  }
}

/** Keeps the previous build for processes that still run from it. */
function removeOldBuilds(kept) {
  for (const entry of readdirSync(dist, { withFileTypes: true })) {
    if (entry.isDirectory() && !kept.includes(entry.name)) rmSync(join(dist, entry.name), { recursive: true, force: true });
  }
}

function readStamp(name) {
  try {
    return JSON.parse(readFileSync(join(dist, name), 'utf8'));
  } catch {
    return null;
  }
}

function writeStamp(name, stamp) {
  replaceFile(join(dist, name), JSON.stringify(stamp));
}

function replaceFile(file, text) {
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}

function describe({ text, location }) {
  return location ? `${location.file}:${location.line}:${location.column + 1}: ${text}` : text;
}

function say(line) {
  if (process.stderr.isTTY) process.stderr.write(`${line}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await currentBuild();
    await workflowBundle();
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  }
}
