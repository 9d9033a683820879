import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/processes.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

describe('the installation of packages (HD-92)', () => {
  it.each(['install', 'ci'])('npm %s in this repository runs no script of a package', { timeout: 120_000 }, async (command) => {
    const folder = await temporaryFolder();
    const bait = join(folder, 'bait');
    mkdirSync(bait);
    const leave = (name: string) => `node -e "require('fs').writeFileSync(require('path').join(process.env.MARKS,'${name}'),'')"`;
    const scripts = { preinstall: leave('preinstall'), install: leave('install'), postinstall: leave('postinstall') };
    writeFileSync(join(bait, 'package.json'), JSON.stringify({ name: 'bait', version: '1.0.0', scripts }));
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ name: 'clone', version: '1.0.0', dependencies: { bait: 'file:bait.tgz' } }),
    );
    const npm = (args: string[], cwd: string) =>
      spawnSync('npm', args, { cwd, encoding: 'utf8', env: { ...environment(), MARKS: folder }, timeout: 100_000 });
    expect(npm(['pack', '--ignore-scripts'], bait).status).toBe(0);
    copyFileSync(join(bait, 'bait-1.0.0.tgz'), join(folder, 'bait.tgz'));
    copyFileSync(join(root, '.npmrc'), join(folder, '.npmrc'));
    if (command === 'ci') npm(['install', '--package-lock-only', '--ignore-scripts', '--offline'], folder);
    const done = npm([command, '--offline'], folder);
    expect([done.status, done.stderr]).toEqual([0, expect.anything()]);
    expect(existsSync(join(folder, 'node_modules', 'bait', 'package.json'))).toBe(true);
    for (const name of Object.keys(scripts)) expect([name, existsSync(join(folder, name))]).toEqual([name, false]);
  });

  it('names in package.json every package that has one, and lets none of them run', () => {
    const packages = Object.entries(lock.packages as Record<string, { hasInstallScript?: boolean }>);
    const having = packages.flatMap(([path, { hasInstallScript }]) =>
      hasInstallScript ? [path.split('node_modules/').at(-1)!] : [],
    );
    expect(Object.keys(manifest.allowScripts)).toEqual([...new Set(having)].toSorted());
    expect(Object.values(manifest.allowScripts).filter((value) => value !== false)).toEqual([]);
  });

  it('is asked for without scripts by npm start too, whatever the settings of a user say', () => {
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
    expect(readFileSync(join(root, 'dev', 'install.mjs'), 'utf8')).toContain("'ci', '--ignore-scripts'");
  });

  it('has taken nothing from elsewhere than the registry, with a sum for each', () => {
    for (const [path, entry] of Object.entries(lock.packages as Record<string, Record<string, unknown>>)) {
      if (path === '' || entry.link === true) continue;
      expect([path, entry.integrity]).toEqual([path, expect.stringMatching(/^sha512-/)]);
      if (entry.resolved !== undefined) expect([path, entry.resolved]).toEqual([path, expect.stringMatching(/^https:\/\//)]);
    }
  });
});

/** npm hands its settings to what it runs as variables; those of this run must not count. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
}
