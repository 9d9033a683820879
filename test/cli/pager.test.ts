import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runPager } from '../../cli/pager.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { temporaryFolder } from '../support/processes.js';
import { login, runSvc, type SvcOptions } from './run-svc.js';

let api: FakeApi;
let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  api = await startFakeApi();
  databases(30);
});
afterEach(() => api.close());

const hostile = '$(touch evil); `touch evil` | touch evil # \u001b]0;x\u0007';
const databases = (count: number) =>
  api.on('GET /api/databases', {
    body: {
      databases: Array.from({ length: count }, () => ({ database: hostile, environment: 'staging', dialect: 'postgresql' })),
    },
  });

/** Runs `svc databases` on a terminal of 24 lines with a pager that only notes what it got. */
async function paged(options: SvcOptions = {}, ...argv: string[]) {
  const calls: { command: string; text: string }[] = [];
  const page = async (command: string, text: string) => {
    calls.push({ command, text });
    return true;
  };
  const environment = { ...login(api.url), ...options.environment };
  const result = await runSvc(['databases', ...argv], { terminal: true, page, ...options, environment });
  return { ...result, calls };
}

describe('a pager (CL-37)', () => {
  it('shows what is longer than the terminal, less by default', async () => {
    const { code, stdout, calls } = await paged();
    expect([code, stdout, calls.map(({ command }) => command)]).toEqual([0, '', ['less -FRX']]);
    expect(calls[0]!.text.split('\n')).toHaveLength(33);
    expect(calls[0]!.text).toContain('\\u001b]0;x');
  });

  it('counts the lines as the terminal wraps them, colours aside', async () => {
    databases(10);
    expect((await paged()).calls).toEqual([]);
    expect((await paged({ columns: 20 })).calls).toHaveLength(1);
    databases(20);
    expect((await paged()).calls).toEqual([]);
    expect((await paged({ rows: 20 })).calls).toHaveLength(1);
  });

  it.each<[string, SvcOptions, string[]]>([
    ['--no-pager', {}, ['--no-pager']],
    ['SVC_NO_PAGER', { environment: { SVC_NO_PAGER: '1' } }, []],
    ['PAGER=cat', { environment: { PAGER: 'cat' } }, []],
    ['an empty PAGER', { environment: { PAGER: ' ' } }, []],
    ['a dumb terminal', { environment: { TERM: 'dumb' } }, []],
    ['a pipe', { terminal: false }, []],
    ['--json', {}, ['--json']],
    ['--format quiet', {}, ['--format', 'quiet']],
  ])('is not used with %s', async (_, options, argv) => {
    const { code, stdout, calls } = await paged(options, ...argv);
    expect([code, calls]).toEqual([0, []]);
    expect(stdout).toContain('touch evil');
  });

  it('is the one of PAGER, word for word, and what cannot be shown there is printed', async () => {
    expect((await paged({ environment: { PAGER: "most -s '|'" } })).calls[0]!.command).toBe("most -s '|'");
    expect((await runSvc(['databases'], { terminal: true, environment: login(api.url) })).stdout).toContain('touch evil');
  });
});

describe('the program', () => {
  const out = () => join(folder, 'out');

  it('gets the text on its input and nothing of it on its command line, which the shell reads', async () => {
    const text = `${hostile}\n`.repeat(1000);
    expect(await runPager(`cd ${folder} && cat > "$OUT"`, text, { ...process.env, OUT: out() })).toBe(true);
    expect(readFileSync(out(), 'utf8')).toBe(text);
    expect(existsSync(join(folder, 'evil'))).toBe(false);
  });

  it('sees the options of less, unless the person has others', async () => {
    for (const [given, seen] of [
      [undefined, 'FRX'],
      ['-i', '-i'],
    ]) {
      await runPager(`printf %s "$LESS" > ${out()}`, 'x', { ...process.env, LESS: given });
      expect(readFileSync(out(), 'utf8')).toBe(seen);
    }
  });

  it('may stop reading early, or fail, and nobody is told', async () => {
    const long = 'x'.repeat(4_000_000);
    expect(await runPager('head -c 10 > /dev/null', long, process.env)).toBe(true);
    expect(await runPager('exit 3', long, process.env)).toBe(true);
    expect(await runPager('kill -9 $$', long, process.env)).toBe(true);
  });

  it('is missing: that is told, so that the text is shown otherwise', async () => {
    expect(await runPager('/nonexistent/pager 2> /dev/null', 'x', process.env)).toBe(false);
    expect(await runPager('less -FRX', 'x', { PATH: folder })).toBe(false);
  });

  /** Runs `svc databases` as a process that takes its pipe for a terminal of five lines. */
  async function svcProcess(pager: string) {
    const main = new URL('../../cli/main.ts', import.meta.url).href;
    const script = `import { main } from ${JSON.stringify(main)};
Object.assign(process.stdout, { isTTY: true, rows: 5, columns: 200 });
process.exit(await main(['databases']));`;
    const tsx = fileURLToPath(new URL('../../node_modules/tsx/dist/loader.mjs', import.meta.url));
    const child = spawn(process.execPath, ['--import', tsx, '--input-type=module', '-e', script], {
      env: { PATH: process.env.PATH, HOME: '/nonexistent', PAGER: pager, OUT: out(), ...login(api.url) },
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += String(chunk);
    });
    const [code] = await once(child, 'close');
    return { code, stderr };
  }

  it('gets Ctrl-C, however often, and the command waits for it and keeps its exit code', async () => {
    const pager = 'kill -INT $PPID; sleep 0.2; kill -INT $PPID; sleep 0.2; cat > "$OUT"';
    expect(await svcProcess(pager)).toEqual({ code: 0, stderr: '' });
    expect(readFileSync(out(), 'utf8').split('\n')).toHaveLength(33);
  });

  it('ends with the command when that is told to end', async () => {
    expect(await svcProcess('kill -TERM $PPID; exec sleep 600')).toEqual({ code: 0, stderr: '' });
  });
});
