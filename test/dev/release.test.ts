import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callApi } from '../../dev/api-call.js';
import { clone } from '../../dev/layout.js';
import { createTestDatabase } from '../support/postgres.js';
import { startSystem } from '../support/system.js';
import { temporalAddress } from '../support/temporal.js';

let folder: string;
let archive: string;
/** The release unpacked, with its packages at their exact versions: npm looks at npm-shrinkwrap.json there, but not in an archive. */
let installed: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-release-'));
  const made = run(process.execPath, [join(clone, 'dev/release.mjs')], process.env);
  archive = join(clone, made.split('\n').find((line) => line.endsWith('.tgz'))!);
  run('tar', ['xzf', archive, '-C', folder]);
  installed = join(folder, 'package');
  const settings = ['--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  run('npm', ['ci', ...settings, '--prefix', installed], { ...process.env, HOME: folder });
}, 600_000);
afterAll(() => {
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** What the programs and the page of the console are built with, and what is in the page itself. */
const builds = /^(esbuild|codemirror|openapi-fetch|preact|preact-iso|uplot|@(codemirror|lezer|preact|tanstack)\/.*)$/;

describe('a release', () => {
  it('has svc and svc-agent, and none of the packages that only developers need', () => {
    const { version, dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(run(join(installed, 'bin/svc'), ['--version'])).toBe(`svc ${version}\n`);
    expect(run(join(installed, 'bin/svc-agent'), ['--version'])).toBe(`svc-agent ${version}\n`);
    const manifest = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'));
    const forBuilds = Object.keys(manifest.dependencies).filter((name) => builds.test(name));
    expect(Object.keys(dependencies)).toEqual(Object.keys(manifest.dependencies).filter((name) => !builds.test(name)));
    for (const name of [...Object.keys(manifest.devDependencies), ...forBuilds])
      if (!neededByOthers.includes(name))
        expect([name, existsSync(join(installed, 'node_modules', name))]).toEqual([name, false]);
  });

  it('holds what it is made of: exact versions, licences, a bill of materials', () => {
    const { packages } = JSON.parse(readFileSync(join(installed, 'npm-shrinkwrap.json'), 'utf8'));
    const { components, bomFormat, metadata } = JSON.parse(readFileSync(join(clone, 'release/sbom.cdx.json'), 'utf8'));
    expect([bomFormat, metadata.component.name, metadata.component.type]).toEqual(['CycloneDX', 'svc-gateway', 'application']);
    const licences = readFileSync(join(installed, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    const listed = new Set<string>(
      components.map(({ name, group, version }: Component) => `${group ? `${group}/` : ''}${name} ${version}`),
    );
    expect(readFileSync(join(installed, 'sbom.cdx.json'), 'utf8')).toBe(
      readFileSync(join(clone, 'release/sbom.cdx.json'), 'utf8'),
    );
    // The licences are those of all code in the release: what it installs, and what is in the page of the console.
    const inRelease = licences.split(`\n\n${'-'.repeat(80)}\n\n`).flatMap((part) => /^(\S+ \d\S*): /.exec(part)?.[1] ?? []);
    expect(inRelease.map((one) => one.split(' ')[0])).toEqual(expect.arrayContaining(['preact', '@codemirror/view', 'uplot']));
    expect(inRelease.filter((one) => !listed.has(one))).toEqual([]);
    for (const { name, purl, hashes } of components as Component[])
      expect([name, purl, hashes?.length]).toEqual([name, expect.stringMatching(/^pkg:npm\//), 1]);
    const found = installedPackages(installed, Object.keys(packages));
    expect(found.length).toBeGreaterThan(200);
    const lacking = found.filter(
      ({ path, name, version }) =>
        packages[path].version !== version || !licences.includes(`${name} ${version}: `) || !listed.has(`${name} ${version}`),
    );
    expect(lacking).toEqual([]);
  });

  it('holds the pages, and every file that installing.md has copied', () => {
    const page = readFileSync(join(installed, 'docs/installing.md'), 'utf8');
    const files = [...page.matchAll(/deploy\/[\w./-]+\w/g)].map(([file]) => file);
    expect(files.length).toBeGreaterThan(5);
    expect(files.filter((file) => !existsSync(join(installed, file)))).toEqual([]);
  });

  it('tells nothing of the machine that it was made on', () => {
    const found = spawnSync('grep', ['-rlF', clone, installed], { encoding: 'utf8' });
    expect([found.status, found.stdout]).toEqual([1, '']);
  });

  it('says that svc dev belongs to the repository', () => {
    const { status, stderr } = spawnSync(join(installed, 'bin/svc'), ['dev'], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([1, 'error: svc dev is part of the repository; clone it and run: npm start\n']);
  });

  it('runs a request through server, worker and the agent of its image, and builds nothing', { timeout: 240_000 }, async () => {
    const before = readdirSync(join(installed, 'dist')).toSorted();
    const agentRoot = await withoutWhatServersLoad();
    const stored = await createTestDatabase();
    const system = await startSystem({
      databaseUrl: stored.url,
      temporalAddress: await temporalAddress(),
      root: installed,
      agentRoot,
    });
    try {
      const server = { server: system.servers[0]!.url, token: system.tokens.alice };
      const asked = { operation: 'execute_select', environment: 'staging', database: 'shop', detail: 'select 40 + 2 as answer' };
      const { body: made } = await callApi(server, 'POST', '/api/requests', asked);
      const path = `/api/requests/${(made as { id: string }).id}/result/stream?timeout=60`;
      const { body } = await callApi(server, 'GET', path);
      expect(JSON.stringify(body)).toContain('42');
    } finally {
      await system.close();
      await stored.drop();
    }
    expect(readdirSync(join(installed, 'dist')).toSorted()).toEqual(before);
  });
});

/** A copy of the release without what the Dockerfile takes out of the agent's image. */
async function withoutWhatServersLoad(): Promise<string> {
  const removed = /^RUN rm -rf (.+)$/m.exec(readFileSync(join(clone, 'Dockerfile'), 'utf8'))![1]!.split(' ');
  const pruned = join(folder, 'agent');
  await cp(installed, pruned, { recursive: true, verbatimSymlinks: true });
  for (const name of removed) {
    expect([name, existsSync(join(pruned, name))]).toEqual([name, true]);
    rmSync(join(pruned, name), { recursive: true });
  }
  return pruned;
}

/** Tools of developers that a package of the release brings along for itself. */
const neededByOthers = ['ajv', '@temporalio/proto', '@types/koa', '@types/node', '@types/pg', '@slack/types'];

interface Component {
  name: string;
  group?: string;
  version: string;
  purl: string;
  hashes?: unknown[];
}

function installedPackages(root: string, paths: string[]): { path: string; name: string; version: string }[] {
  return paths
    .filter((path) => path !== '' && existsSync(join(root, path, 'package.json')))
    .map((path) => {
      const { name, version } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
      return { path, name, version };
    });
}

/** What the program writes; fails unless it ends with 0. */
function run(program: string, args: string[], env: NodeJS.ProcessEnv = process.env): string {
  const { status, stdout, stderr } = spawnSync(program, args, { env, encoding: 'utf8', timeout: 240_000 });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}\n${stderr}`);
  return stdout;
}
