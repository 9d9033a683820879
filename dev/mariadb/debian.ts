import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where to unpack files of Debian packages; nothing is installed. */
export interface DebianOptions {
  signal: AbortSignal;
  report: (line: string) => void;
}

const commandWaitMs = 3 * 60_000;

/** `debian-12`, `ubuntu-24.04`; null where Debian's packages do not fit. */
export function debianRelease(): string | null {
  if (process.platform !== 'linux' || !existsSync('/usr/bin/apt-get') || !existsSync('/etc/os-release')) return null;
  const text = readFileSync('/etc/os-release', 'utf8');
  const value = (name: string) => new RegExp(`^${name}="?([\\w.-]+)"?$`, 'm').exec(text)?.[1];
  return value('ID') === undefined ? null : `${value('ID')}-${value('VERSION_ID') ?? 'rolling'}`;
}

/**
 * Unpacks a package to `folder`, with the dependencies that the machine lacks; `only` restricts this to paths that match a
 * pattern. Root may fetch missing package lists; anybody may do the rest. An incomplete folder is never mistaken for a complete
 * one.
 */
export async function unpackDebian(name: string, only: string | null, folder: string, options: DebianOptions): Promise<void> {
  const unfinished = `${folder}.${process.pid}`;
  const archives = join(unfinished, 'archives');
  mkdirSync(archives, { recursive: true });
  try {
    const names = await namesOf(name, only !== null, options);
    options.report(`fetching ${names.join(', ')} of Debian`);
    await run('apt-get', ['-qq', '-o', 'APT::Sandbox::User=root', 'download', ...names], archives, options.signal);
    for (const file of readdirSync(archives)) {
      const parts = [join(archives, file), unfinished, only ?? '*'];
      await run(
        'sh',
        ['-c', 'dpkg-deb --fsys-tarfile "$1" | tar -xC "$2" --wildcards "$3"', 'sh', ...parts],
        archives,
        options.signal,
      );
    }
    rmSync(archives, { recursive: true });
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(dirname(folder), { recursive: true });
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

async function namesOf(name: string, alone: boolean, options: DebianOptions): Promise<string[]> {
  const ask = () => planOf(name, options.signal);
  const plan = await ask().catch(async (error: Error) => {
    if (process.getuid?.() !== 0) throw new Error(`${error.message}; run apt-get update as root`);
    options.report('fetching the lists of packages');
    await run('apt-get', ['-qq', 'update'], '/', options.signal);
    return ask();
  });
  return alone || plan.length === 0 ? [name] : plan;
}

/** Simulates an installation to list what it would bring. */
async function planOf(name: string, signal: AbortSignal): Promise<string[]> {
  const text = await run('apt-get', ['--simulate', '--no-install-recommends', 'install', name], '/', signal);
  return [...text.matchAll(/^Inst (\S+) /gm)].map(([, each]) => each!);
}

function run(file: string, args: string[], cwd: string, signal: AbortSignal): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
  // The option `timeout` would keep this process alive when the program is missing.
  const ends = AbortSignal.any([signal, AbortSignal.timeout(commandWaitMs)]);
  const child = spawn(file, args, { cwd, env, signal: ends, stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { out: '', error: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text.out += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text.error += chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      const last = text.error.trim().split('\n').at(-1)?.slice(0, 300);
      if (code === 0) resolve(text.out);
      else reject(new Error(`${file} ${args.find((arg) => /^[a-z]/.test(arg)) ?? ''}: ${last || `exit code ${code}`}`));
    });
  });
}
