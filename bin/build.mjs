import { existsSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtFolder, dist, readStamp, removeOldBuilds, replaceFile, underLock, writeStamp } from './dist.mjs';
import { checkFolders, root, sourceFiles, sourceFolders, sourceSignature } from './sources.mjs';

/** Programs started by name. Every `*-worker.ts` is an entry too, because a worker thread needs its own file. */
const entries = ['cli/main.ts', 'agent/main.ts', 'dev/demo.ts'];

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
