import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { builtFolder, dist, readStamp, removeOldBuilds, underLock, writeStamp } from './dist.mjs';
import { root, sourceSignature } from './sources.mjs';

const stampName = 'console.json';

/** The console imports nothing else. */
const folders = ['console', 'lib'];

/** The folder with the page of the console and its files, built from the current sources; builds them when a source has changed since the last build. */
export async function currentConsole() {
  const signature = sourceSignature(folders);
  const ready = builtFolder(stampName, signature);
  if (ready) return ready;
  return underLock('build.lock', () => builtFolder(stampName, signature) ?? buildConsole(signature));
}

/** The page names its files, which are named by their content, so that browsers may keep them for ever (CO-2). */
async function buildConsole(signature) {
  const folder = `console-${Date.now().toString(36)}-${process.pid}`;
  const { build, stop } = await import('esbuild');
  const result = await build({ ...options, outdir: join(dist, folder) }).catch((error) => error);
  await stop();
  if (result.errors.length > 0) {
    rmSync(join(dist, folder), { recursive: true, force: true });
    throw new Error(`the console cannot be built\n${result.errors.map(({ text }) => text).join('\n')}`);
  }
  writeFileSync(join(dist, folder, 'index.html'), pageOf(result.metafile, folder));
  await compress(join(dist, folder));
  const packages = packagesOf(result.metafile);
  writeStamp(stampName, { folder, previous: readStamp(stampName)?.folder, signature, packages });
  removeOldBuilds();
  return join(dist, folder);
}

const options = {
  absWorkingDir: root,
  entryPoints: {
    console: join(root, 'console/main.tsx'),
    style: join(root, 'console/style/main.css'),
    icon: join(root, 'console/style/icon.svg'),
    news: join(root, 'console/style/news.svg'),
  },
  entryNames: 'assets/[name]-[hash]',
  chunkNames: 'assets/[name]-[hash]',
  assetNames: 'assets/[name]-[hash]',
  publicPath: '/console/',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { 'process.env.NODE_ENV': '"production"' },
  loader: { '.svg': 'copy' },
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'silent',
};

/** `console/index.html` with the names of the built files. */
function pageOf({ outputs }, folder) {
  const built = Object.entries(outputs).map(([file, output]) => ({ file: `/console/${file.split(`${folder}/`)[1]}`, ...output }));
  const named = (name) => built.find(({ file }) => file.includes(`/${name}-`)).file;
  const main = built.find(({ entryPoint, file }) => entryPoint === 'console/main.tsx' && file.endsWith('.js'));
  const chunks = main.imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => `assets/${basename(path)}`);
  const preloads = chunks.map((file) => `<link rel="modulepreload" href="/console/${file}">`);
  return readFileSync(join(root, 'console/index.html'), 'utf8')
    .replace('{{script}}', main.file)
    .replace('{{style}}', named('style'))
    .replace('{{icon}}', named('icon'))
    .replace('{{news}}', named('news'))
    .replace('{{preloads}}', preloads.join('\n    '));
}

/** The npm packages whose code is in the build, as paths such as `node_modules/preact`. */
function packagesOf({ inputs }) {
  const paths = Object.keys(inputs).flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(paths)].sort();
}

/** Once at the build and as small as it gets, so that no server compresses. */
async function compress(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const file = join(parentPath, name);
      const content = readFileSync(file);
      const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
      writeFileSync(`${file}.br`, await promisify(brotliCompress)(content, { params }));
      writeFileSync(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
    }),
  );
}
