import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { agentToml } from '../init/agent-toml.js';
import { serverToml } from '../init/server-toml.js';
import { svcToml } from '../init/svc-toml.js';
import type { Answer } from '../output/output.js';

interface InitOptions {
  outputDir: string;
  force?: boolean;
  dryRun?: boolean;
}

const files = { 'svc.toml': svcToml, 'server.toml': serverToml, 'agent.toml': agentToml };

/**
 * `svc init` (CL section 6): writes the three configuration files; overwrites existing ones only with `--force`. Calls no server.
 */
export async function init(context: Context, _: readonly string[], options: InitOptions): Promise<Answer> {
  const { outputDir, force = false, dryRun = false } = options;
  const folder = resolve(context.terminal.directory, outputDir);
  const written = Object.entries(files).map(([name, text]) => ({ path: join(outputDir, name), file: join(folder, name), text }));
  const there = written.filter(({ file }) => existsSync(file)).map(({ path }) => path);
  if (there.length > 0 && !force)
    throw failure(
      'config_error',
      `init: ${there.join(', ')} ${there.length === 1 ? 'is' : 'are'} there already; nothing was written`,
      {
        hint: '--force overwrites them; --output-dir chooses another folder',
      },
    );
  if (!dryRun) write(folder, written, force);
  const data = { dry_run: dryRun, files: written.map(({ path }) => path) };
  return {
    data: JSON.stringify(data),
    human: () => written.map(({ path, text }) => (dryRun ? `--- ${path}\n${text}` : `wrote ${path}\n`)).join(''),
    ...(dryRun ? {} : { note: nextSteps(outputDir) }),
  };
}

function write(folder: string, written: readonly { file: string; text: string }[], force: boolean): void {
  try {
    mkdirSync(folder, { recursive: true });
    // `wx` fails for a file created in the meantime.
    for (const { file, text } of written) writeFileSync(file, text, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    throw failure('config_error', `init: ${path ?? folder} cannot be written: ${code ?? 'unknown reason'}`);
  }
}

const nextSteps = (folder: string) =>
  [
    'Next: name your databases in server.toml and agent.toml, set SVC_DATABASE_URL, then',
    `  svc config check --config ${join(folder, 'server.toml')}`,
    `  svc server --config ${join(folder, 'server.toml')}`,
  ].join('\n');
