import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { hostCommands } from '../../cli/host.js';
import { temporaryFolder } from '../support/processes.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('the launchers svc and svc-agent', () => {
  let clone: string;
  beforeEach(async () => {
    clone = await smallClone();
  });

  it('build on first use and hand over arguments and exit code (DV-1)', async () => {
    expect(await run(clone, 'svc', 'one', 'two')).toEqual({ code: 3, output: 'one two first\n' });
    expect(await run(clone, 'svc-agent')).toEqual({ code: 0, output: '' });
  });

  it('build once when several start at the same time', async () => {
    const results = await Promise.all([run(clone, 'svc', 'a'), run(clone, 'svc', 'b'), run(clone, 'svc', 'c')]);
    expect(results.map(({ output }) => output)).toEqual(['a first\n', 'b first\n', 'c first\n']);
    expect(builds(clone)).toHaveLength(1);
  });

  it('build again when a source has changed, and keep the former build for those that run from it', async () => {
    await run(clone, 'svc');
    writeFileSync(join(clone, 'cli/word.ts'), `export const word = 'second';`);
    expect((await run(clone, 'svc', 'x')).output).toBe('x second\n');
    expect(builds(clone)).toHaveLength(2);
    writeFileSync(join(clone, 'cli/word.ts'), `export const word = 'third word';`);
    await run(clone, 'svc');
    expect(builds(clone)).toHaveLength(2);
  });

  it('name file and line of a source that cannot be built', async () => {
    writeFileSync(join(clone, 'cli/word.ts'), 'export const word = ;');
    const { code, output } = await run(clone, 'svc');
    expect(code).toBe(1);
    expect(output).toMatch(/^error: the sources cannot be built\ncli\/word\.ts:1:\d+: /);
  });

  it('say who must build them where this user cannot', async () => {
    writeFileSync(join(clone, 'dist'), '');
    const output = `error: a build is needed, and ${join(clone, 'dist')} cannot be written (EEXIST); as the owner of ${clone} run: npm run build\n`;
    expect(await run(clone, 'svc')).toEqual({ code: 1, output });
    expect(await run(clone, 'svc-agent')).toEqual({ code: 1, output });
  });

  it('find the files of the repository from the build', async () => {
    writeFileSync(join(clone, 'cli/word.ts'), `export const word = new URL('../db/schema.sql', import.meta.url).pathname;`);
    mkdirSync(join(clone, 'db'));
    writeFileSync(join(clone, 'db/schema.sql'), '');
    expect((await run(clone, 'svc', 'at')).output).toBe(`at ${join(clone, 'db/schema.sql')}\n`);
  });

  it('run commands of the host from the build of all programs, all others from the one of the client', async () => {
    writeFileSync(join(clone, 'cli/word.ts'), `export const word = import.meta.url.split('/').at(-1);`);
    expect((await run(clone, 'svc', 'list')).output).toBe('list client.cjs\n');
    for (const name of hostCommands().commands.map((command) => command.name()))
      expect((await run(clone, 'svc', '--config', 'x', name)).output).toBe(`--config x ${name} cli-main.js\n`);
  });

  it('build the client again when a package in it has changed, and run it where its compiled code is of no use', async () => {
    await run(clone, 'svc');
    const [folder = ''] = builds(clone);
    const code = readdirSync(join(clone, 'dist', folder)).find((name) => name.startsWith('client.cjs.'));
    writeFileSync(join(clone, 'dist', folder, code ?? ''), 'broken');
    expect((await run(clone, 'svc', 'a')).output).toBe('a first\n');
    expect(statSync(join(clone, 'dist', folder, code ?? '')).size).toBeGreaterThan(100);
    rmSync(join(clone, 'node_modules'));
    mkdirSync(join(clone, 'node_modules/word'), { recursive: true });
    symlinkSync(join(root, 'node_modules/esbuild'), join(clone, 'node_modules/esbuild'));
    writeFileSync(join(clone, 'node_modules/word/index.js'), `export const word = 'packed';`);
    writeFileSync(join(clone, 'cli/word.ts'), `export { word } from 'word';`);
    expect((await run(clone, 'svc', 'b')).output).toBe('b packed\n');
    writeFileSync(join(clone, 'node_modules/word/index.js'), `export const word = 'packed again';`);
    expect((await run(clone, 'svc', 'c')).output).toBe('c packed again\n');
  });

  it('print all of a long output into a pipe', async () => {
    writeFileSync(join(clone, 'cli/word.ts'), `export const word = 'w'.repeat(300_000);`);
    expect((await run(clone, 'svc')).output).toHaveLength(300_001);
  });
});

async function smallClone(): Promise<string> {
  const clone = await temporaryFolder();
  cpSync(join(root, 'bin'), join(clone, 'bin'), { recursive: true });
  cpSync(join(root, 'package.json'), join(clone, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  for (const folder of ['cli', 'agent', 'dev']) mkdirSync(join(clone, folder));
  const main = `import { word } from './word.js';
export async function main(argv: string[]): Promise<number> {
  console.log([...argv, word].join(' '));
  return 3;
}`;
  writeFileSync(join(clone, 'cli/main.ts'), main);
  writeFileSync(join(clone, 'cli/word.ts'), `export const word = 'first';`);
  for (const file of ['agent/main.ts', 'dev/demo.ts']) {
    writeFileSync(join(clone, file), 'export const main = async (): Promise<number> => 0;');
  }
  return clone;
}

function builds(clone: string): string[] {
  return readdirSync(join(clone, 'dist'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

function run(clone: string, program: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(join(clone, 'bin', program), args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
