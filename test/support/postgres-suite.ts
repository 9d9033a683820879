import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withLock } from '../../dev/with-lock.js';

/** The release of Debian with the sources of our PostgreSQL's major version, and the package in it. */
const source = { suite: 'forky', name: 'postgresql-18' };
const mirrors = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'];
const wanted = ['parallel_schedule', 'sql/*', 'data/*'].map((name) => `*/src/test/regress/${name}`);
const fetchMs = 300_000;

/**
 * The folder of PostgreSQL's own regression suite, with `parallel_schedule`, `sql/` and `data/` (DV-12): that of
 * SVC_TEST_POSTGRES_SUITE, else our cache, else from Debian's source package. Or why there is none.
 */
export async function findPostgresSuite(): Promise<{ folder: string } | { why: string }> {
  const named = process.env.SVC_TEST_POSTGRES_SUITE;
  if (named) return isSuite(named) ? { folder: named } : { why: `SVC_TEST_POSTGRES_SUITE: ${named} holds no parallel_schedule` };
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'svc', 'postgres-suite', source.name);
  if (isSuite(folder)) return { folder };
  mkdirSync(join(folder, '..'), { recursive: true });
  return withLock(`${folder}.lock`, { waitMs: fetchMs, signal: AbortSignal.timeout(fetchMs), onWait: () => {} }, async () => {
    const why = isSuite(folder) ? null : fetchSuite(folder);
    return why === null ? { folder } : { why: `${why}; point SVC_TEST_POSTGRES_SUITE at src/test/regress of PostgreSQL 18` };
  });
}

const isSuite = (folder: string) => existsSync(join(folder, 'parallel_schedule'));

/** Null if the suite is in `folder`, complete; else why not. apt checks the signature and the sums of what it fetches. */
function fetchSuite(folder: string): string | null {
  const from = mirror();
  if (from === null) return 'apt is set to no mirror';
  const work = mkdtempSync(`${folder}.new-`);
  try {
    mkdirSync(join(work, 'lists', 'partial'), { recursive: true });
    writeFileSync(join(work, 'sources.list'), `deb-src ${from} ${source.suite} main\n`);
    const apt = [
      `--option=Dir::Etc::SourceList=${join(work, 'sources.list')}`,
      '--option=Dir::Etc::SourceParts=/dev/null',
      `--option=Dir::State::Lists=${join(work, 'lists')}`,
    ];
    const failed =
      run(work, 'apt-get', [...apt, 'update']) ??
      run(work, 'apt-get', [...apt, 'source', '--download-only', '--tar-only', source.name]) ??
      unpack(work);
    if (failed !== null) return failed;
    rmSync(folder, { recursive: true, force: true });
    renameSync(join(work, 'suite'), folder);
    return null;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The mirror in the settings of this machine's apt. */
function mirror(): string | null {
  const { stdout } = spawnSync('grep', ['-hoPs', '^(URIs:|deb)\\s+(\\[.*?\\]\\s+)?\\K\\S+', ...mirrors], { encoding: 'utf8' });
  return stdout?.split('\n')[0] || null;
}

function unpack(work: string): string | null {
  const archive = readdirSync(work).find((name) => name.includes('.orig.tar'));
  if (archive === undefined) return 'the source package holds no archive';
  mkdirSync(join(work, 'suite'));
  return run(work, 'tar', ['-xf', archive, '-C', 'suite', '--strip-components=4', '--wildcards', ...wanted]);
}

function run(cwd: string, program: string, args: readonly string[]): string | null {
  const { status, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', timeout: fetchMs });
  if (status === 0) return null;
  return `${program} failed: ${error?.message ?? stderr.trim().split('\n').at(-1)}`;
}
