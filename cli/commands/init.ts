import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, normalize, resolve } from 'node:path';
import { fileFault } from '../../lib/file-fault.js';
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
 * `svc init` (cli.md section 6): writes the three configuration files; overwrites existing ones only with `--force`. Calls no server.
 */
export async function init(context: Context, _: readonly string[], options: InitOptions): Promise<Answer> {
  const { outputDir, force = false, dryRun = false } = options;
  const folder = resolve(context.terminal.directory, outputDir);
  const written = Object.entries(files).map(([name, text]) => ({ path: join(outputDir, name), file: join(folder, name), text }));
  const there = written.filter(({ file }) => existsSync(file)).map(({ path }) => path);
  if (there.length > 0 && !force && !dryRun)
    throw failure(
      'config_error',
      `init: ${there.join(', ')} already ${there.length === 1 ? 'exists' : 'exist'}; nothing was written`,
      {
        hint: '--force overwrites them; --output-dir chooses another folder',
      },
    );
  if (!dryRun) write(folder, written, force);
  const texts = Object.fromEntries(written.map(({ path, text }) => [path, text]));
  const data = { dry_run: dryRun, files: Object.keys(texts), ...(dryRun ? { texts } : {}) };
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
    const { path } = error as NodeJS.ErrnoException;
    throw failure('config_error', `init: ${path ?? folder} cannot be written (${fileFault(error)})`);
  }
}

/** The steps name files as they are seen from the folder, because `svc trust` and the other commands read the `svc.toml` of the folder they are in. */
const nextSteps = (
  folder: string,
) => `Next, ${normalize(folder) === '.' ? '' : `in ${folder} and `}each program in a terminal of its own:
  1. Name your databases in server.toml and agent.toml.
  2. Set SVC_DATABASE_URL to a PostgreSQL database for the gateway itself.
     Set SVC_TEMPORAL_ADDRESS, or start a Temporal server to try it:
       temporal server start-dev --db-filename temporal.db
  3. svc config check --online --config server.toml
  4. svc server --config server.toml
     svc worker --config server.toml
  5. Set the variables that agent.toml reads, such as SHOP_DEVELOPMENT_URL.
     svc-agent --config agent.toml
  6. svc trust
     Add requesters and approvers with svc user add. svc.toml has the administrator's token,
     which the first start of the server writes to ${join('state', 'admin-token')}.
svc doctor says what does not work yet; svc doctor --agent agent.toml does the same for the agent.`;
