import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { currentBuild, currentClient, workflowBundle } from '../bin/build.mjs';
import { currentConsole } from '../bin/console.mjs';
import { readStamp } from '../bin/dist.mjs';
import { root } from '../bin/sources.mjs';
import { install } from './install.mjs';

/** Where the release is made; git-ignored. */
const out = join(root, 'release');
const stage = join(out, 'package');

/** What runs without the sources. `npm start` and its engines belong to the repository. */
const shippedFiles = [
  ...[
    'svc',
    'svc-agent',
    'start.cjs',
    'launch.mjs',
    'build.mjs',
    'client.cjs',
    'console.mjs',
    'dist.mjs',
    'lock.mjs',
    'node-version.cjs',
    'sources.mjs',
  ].map((name) => `bin/${name}`),
  'bin/package.json',
  'db/migrations',
  // The pages, and the files that they tell to copy.
  'deploy',
  'docs',
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'server.toml.example',
];
/** Only builds need them. */
const buildPackages = [
  '@codemirror/lang-sql',
  '@codemirror/language',
  '@codemirror/lint',
  '@codemirror/state',
  '@lezer/highlight',
  '@preact/signals',
  '@tanstack/virtual-core',
  'codemirror',
  'esbuild',
  'openapi-fetch',
  'preact',
  'preact-iso',
  'uplot',
];

await install();
rmSync(out, { recursive: true, force: true });
mkdirSync(join(stage, 'dist'), { recursive: true });
for (const file of shippedFiles) cpSync(join(root, file), join(stage, file), { recursive: true });
await copyBuild();
writeManifest();
const inConsole = readStamp('console.json').packages;
writeFileSync(join(stage, 'THIRD-PARTY-LICENSES.txt'), licencesOf([...shippedPackages(), ...inConsole]));
writeJson('sbom.cdx.json', billOfMaterials(inConsole));
cpSync(join(stage, 'sbom.cdx.json'), join(out, 'sbom.cdx.json'));
const packed = JSON.parse(npm(out, ['pack', './package', '--json', '--ignore-scripts']));
process.stdout.write(`${join('release', packed[0].filename)}\n${join('release', 'sbom.cdx.json')}\n`);

/** Copies what was built, with stamps that are of no sources, so that it is never built again. */
async function copyBuild() {
  const programs = await currentBuild();
  const client = await currentClient();
  cpSync(programs, join(stage, 'dist', basename(programs)), { recursive: true });
  const clientFolder = basename(dirname(client));
  cpSync(client, join(stage, 'dist', clientFolder, basename(client)));
  const page = await currentConsole();
  cpSync(page, join(stage, 'dist', basename(page)), { recursive: true });
  cpSync(await workflowBundle(), join(stage, 'dist/workflow-bundle.js'));
  writeJson('dist/build.json', { folder: basename(programs), released: true });
  writeJson('dist/client.json', { folder: clientFolder, file: `${clientFolder}/${basename(client)}`, inputs: [] });
  writeJson('dist/console.json', { folder: basename(page), released: true });
  writeJson('dist/workflow-bundle.json', { released: true });
}

/** The package names the exact version of every package that it runs with (npm-shrinkwrap.json); npm drops the others from the lockfile. */
function writeManifest() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const key of ['private', 'scripts', 'devDependencies', 'allowScripts']) delete manifest[key];
  for (const name of buildPackages) delete manifest.dependencies[name];
  writeJson('package.json', manifest);
  cpSync(join(root, 'package-lock.json'), join(stage, 'package-lock.json'));
  npm(stage, ['install', '--package-lock-only', '--offline', '--ignore-scripts', '--no-audit', '--no-fund']);
  renameSync(join(stage, 'package-lock.json'), join(stage, 'npm-shrinkwrap.json'));
}

/** Where the packages of the release lie in `node_modules`. */
function shippedPackages() {
  const { packages } = JSON.parse(readFileSync(join(stage, 'npm-shrinkwrap.json'), 'utf8'));
  return Object.keys(packages).filter((path) => path !== '');
}

/** The packages that the release installs, and those whose code is in the page of the console. */
function billOfMaterials(inConsole) {
  const bill = bomOf(stage);
  const known = new Set(bill.components.map(({ purl }) => purl));
  // With their hashes and licences, from the lockfile of the clone.
  const built = new Map(bomOf(root).components.map((component) => [component['bom-ref'], component]));
  const added = inConsole.map((path) => built.get(refOf(path)) ?? fail(`${path} is not in package-lock.json`));
  // npm calls the whole by its folder.
  bill.metadata.component.name = 'svc-gateway';
  return { ...bill, components: [...bill.components, ...added.filter(({ purl }) => !known.has(purl))] };
}

function bomOf(folder) {
  const kind = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  return JSON.parse(npm(folder, ['sbom', ...kind, '--package-lock-only', '--omit', 'dev']));
}

function refOf(path) {
  const { name, version } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
  return `${name}@${version}`;
}

function fail(message) {
  throw new Error(message);
}

/** Names, versions and licence texts of installed packages. One that is for another platform is not installed and left out. */
function licencesOf(paths) {
  return paths
    .filter((path) => existsSync(join(root, path, 'package.json')))
    .map((path) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
      const texts = readdirSync(join(root, path))
        .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
        .map((file) => readFileSync(join(root, path, file), 'utf8').trim());
      return [`${name} ${version}: ${license ?? 'see below'}`, ...texts].join('\n\n');
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`);
}

function writeJson(file, value) {
  writeFileSync(join(stage, file), `${JSON.stringify(value, null, 2)}\n`);
}

function npm(cwd, args) {
  const { status, stdout, stderr } = spawnSync('npm', [...args, '--loglevel=error'], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (status !== 0) throw new Error(`npm ${args[0]} failed\n${stderr}`);
  return stdout;
}
