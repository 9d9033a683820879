import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type DebianOptions, debianRelease, unpackDebian } from '../../dev/mariadb/debian.js';
import { withLock } from '../../dev/with-lock.js';

/** A browser that tests drive. */
export interface Chromium {
  file: string;
  /** Environment variables that it needs in addition: the path of its libraries if it is not installed. */
  environment: Record<string, string>;
}

const fetchWaitMs = 10 * 60_000;
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** A Chromium on the path or in our cache; null where there is none. */
export function findChromium(): Chromium | null {
  const onPath = (process.env.PATH ?? '').split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  const file = onPath.find((each) => existsSync(each));
  if (file !== undefined) return runs({ file, environment: {} });
  const root = cacheFolder();
  return root === null ? null : unpacked(root);
}

/** Debian's package, unpacked into our cache with the libraries that the machine lacks (DV-12); nothing is installed. */
export async function getChromium(options: DebianOptions): Promise<Chromium> {
  const found = findChromium();
  if (found !== null) return found;
  const root = cacheFolder();
  if (root === null) throw new Error('no program chromium; install Chromium');
  const report = (line: string) => options.report(`Chromium: ${line}`);
  const onWait = (holder: number) => report(`process ${holder} is fetching the program, waiting for it`);
  return withLock(`${root}.lock`, { waitMs: fetchWaitMs, signal: options.signal, onWait }, async () => {
    const made = unpacked(root);
    if (made !== null) return made;
    await unpackDebian('chromium', null, root, { ...options, report }).catch((error: Error) => {
      options.signal.throwIfAborted();
      throw new Error(`no Chromium (${error.message}); install the package chromium`);
    });
    const program = unpacked(root);
    if (program === null) throw new Error('the chromium of Debian does not run here; install Chromium');
    return program;
  });
}

function cacheFolder(): string | null {
  const release = debianRelease();
  return release === null ? null : join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'svc', 'chromium', release);
}

/** The program itself: the package's own script looks only where packages are installed. */
function unpacked(root: string): Chromium | null {
  const file = join(root, 'usr/lib/chromium/chromium');
  if (!existsSync(file)) return null;
  const folders = ['lib', 'usr/lib'].map((name) => join(root, name)).filter((folder) => existsSync(folder));
  const machines = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('-linux-gnu'))
      .map((name) => join(folder, name)),
  );
  // PulseAudio keeps a library of its own apart.
  const libraries = [...machines, ...folders, ...machines.map((folder) => join(folder, 'pulseaudio'))];
  return runs({ file, environment: { LD_LIBRARY_PATH: libraries.join(':'), FONTCONFIG_PATH: fontsOf(root) } });
}

const fontsOf = (root: string) => (existsSync('/etc/fonts/fonts.conf') ? '/etc/fonts' : join(root, 'etc/fonts'));

function runs(program: Chromium): Chromium | null {
  const env = { ...process.env, ...program.environment };
  const answer = spawnSync(program.file, ['--version', '--no-sandbox'], { env, timeout: 30_000 });
  return answer.status === 0 ? program : null;
}
