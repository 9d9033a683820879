import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtClient, stampName as clientStamp } from './client.cjs';
import { currentConsole } from './console.mjs';
import { builtFolder, dist, isOf, readStamp, removeOldBuilds, replaceFile, underLock, writeStamp } from './dist.mjs';
import { buildFiles, checkFolders, root, sourceFiles, sourceFolders, sourceSignature } from './sources.mjs';

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
  const isReady = () => existsSync(file) && isOf(readStamp('workflow-bundle.json'), signature);
  if (isReady()) return file;
  return underLock('workflow-bundle.lock', () => (isReady() ? file : bundleWorkflows(file, signature)));
}

/** The file with the client commands of `svc`, built from the current sources (client.cjs). */
export async function currentClient() {
  return builtClient() ?? underLock('build.lock', () => builtClient() ?? buildClient());
}

async function buildPrograms(signature) {
  const { folder, inputs } = await buildFolder('the programs', {
    entryPoints: entryPoints(),
    chunkNames: '[name]-[hash]',
    splitting: true,
    packages: 'external',
    format: 'esm',
    sourcemap: true,
  });
  checkFolders(inputs);
  writeStamp('build.json', { folder, previous: readStamp('build.json')?.folder, signature });
  removeOldBuilds();
  return join(dist, folder);
}

/** What runs on the host only comes from the other build. As patterns of `external` these would match a clone in a folder of such a name. */
const hostOnly = {
  name: 'host-only',
  setup(build) {
    build.onResolve({ filter: /^\.\.\/(api|worker|dev|runtime|agent)\// }, ({ path }) => ({ path, external: true }));
  },
};

async function buildClient() {
  const { folder, inputs } = await buildFolder('the client', {
    entryPoints: { client: join(root, 'cli/main.ts') },
    plugins: [fileUrls, hostOnly],
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    banner: { js: 'const __url = require("node:url").pathToFileURL(__filename).href;' },
    define: { 'import.meta.url': '__url' },
  });
  const states = [...inputs, 'package.json', ...buildFiles].map((file) => {
    const { size, mtimeMs } = statSync(join(root, file));
    return [file, size, mtimeMs];
  });
  const previous = readStamp(clientStamp)?.folder;
  writeStamp(clientStamp, { file: `${folder}/client.cjs`, folder, previous, inputs: states });
  removeOldBuilds();
  // Its first run leaves the compiled code for all others.
  spawnSync(process.execPath, [join(root, 'bin/svc'), 'completion', 'bash'], { stdio: 'ignore' });
  return join(dist, folder, 'client.cjs');
}

/** Builds into a new folder of `dist`; answers its name and the files that it was made of. */
async function buildFolder(what, options) {
  const startedAt = Date.now();
  say(`building ${what} ...`);
  const folder = `${startedAt.toString(36)}-${process.pid}`;
  const { build, stop } = await import('esbuild');
  const result = await build({
    absWorkingDir: root,
    outdir: join(dist, folder),
    bundle: true,
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
    metafile: true,
    plugins: [fileUrls],
    ...options,
  }).catch((error) => error);
  await stop();
  if (result.errors.length > 0) {
    rmSync(join(dist, folder), { recursive: true, force: true });
    throw new Error(`the sources cannot be built\n${result.errors.map(describe).join('\n')}`);
  }
  say(`built in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  return { folder, inputs: Object.keys(result.metafile.inputs) };
}

async function bundleWorkflows(file, signature) {
  say('bundling the workflows ...');
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(root, 'workflows/index.ts'),
    payloadConverterPath: join(root, 'workflows/payload-converter.ts'),
    logger: new DefaultLogger('ERROR'),
  });
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
    await currentClient();
    await currentConsole();
    await workflowBundle();
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  }
}
