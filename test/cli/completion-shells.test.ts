import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { noteLeftOut } from '../support/not-run.js';
import { runSvc } from './run-svc.js';

const toml = `default_database = "shop"
default_environment = "staging"
[databases.ledger]
migrations_dir = "migrations"
`;

/** What stands before the tab, and what has to be offered for it. */
const cases: [string, string[]][] = [
  ['svc req', ['request']],
  ['svc request li', ['list']],
  ['svc request list --pend', ['--pending-for-me']],
  ['svc request list --status exec', ['executed', 'execution_lost']],
  ['svc --format ', ['human', 'json', 'quiet', 'github', 'sarif']],
  ['svc -d ', ['ledger', 'shop']],
  ['svc execute --database=le', ['ledger']],
  ['svc -e ', ['staging']],
  ['svc execute --reason ', []],
  ['svc completion f', ['fish']],
  ['svc migrate ', ['create', 'down', 'repair', 'status', 'up']],
  ['svc -d shop migrate u', ['up']],
  ['svc migrate repair --action ', ['mark-applied', 'remove']],
  ['svc server --for', ['--force-bootstrap']],
  ['svc config ch', ['check']],
  ['svc request show --file svc', []],
  ['svc execute --file svc.t', ['svc.toml']],
];

/** What each shell itself answers to a line; it is run in the folder that holds the script. */
const ask: Record<string, (line: string, folder: string) => string[]> = {
  zsh: (line, folder) => [
    '-f',
    fileURLToPath(new URL('completion-zsh.zsh', import.meta.url)),
    join(folder, 'script'),
    folder,
    line,
  ],
  fish: (line, folder) => ['--no-config', '-c', `source ${join(folder, 'script')}; complete -C '${line}'`],
};

const isThere = (shell: string) => spawnSync(shell, ['--version']).status === 0;

async function offered(shell: string, line: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-completion-'));
  writeFileSync(join(folder, 'svc.toml'), toml);
  writeFileSync(join(folder, 'script'), (await runSvc(['completion', shell], { directory: folder })).stdout);
  const options = { cwd: folder, encoding: 'utf8', timeout: 60_000, env: { PATH: process.env.PATH, HOME: folder } } as const;
  const { stdout, status } = spawnSync(shell, ask[shell]!(line, folder), options);
  expect(status).toBe(0);
  // fish puts a description after a tab, and the option in front of a value of its own.
  return stdout.split('\n').flatMap(
    (text) =>
      text
        .split('\t')[0]!
        .replace(/^--\w+=/, '')
        .trim() || [],
  );
}

for (const shell of Object.keys(ask)) {
  if (!isThere(shell)) noteLeftOut(import.meta.url, `there is no ${shell}`);
  describe.skipIf(!isThere(shell))(`completion in a real ${shell} (CL-46)`, () => {
    it.each(cases)('after %j: %j', { timeout: 90_000 }, async (line, expected) => {
      const typesOption = /(?:^| )-[^ ]*$/.test(line);
      const found = (await offered(shell, line)).filter((word) => typesOption || !word.startsWith('-'));
      expect(found.toSorted()).toEqual(expected);
    });
  });
}
