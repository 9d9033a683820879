import type { Command } from 'commander';
import type { Bind } from '../command.js';

/** `svc init` runs here: it needs nothing from the gateway. */
export function defineInit(program: Command, bind: Bind): void {
  const init = program
    .command('init')
    .description('write svc.toml, server.toml and agent.toml to start from')
    .option('--output-dir <dir>', 'where', '.')
    .option('--force', 'write over files that are there')
    .option('--dry-run', 'show them, write nothing');
  bind(init, async () => (await import('../commands/init.js')).init);
}

/** Only for the help: `main.ts` passes these commands to `host.ts` before parsing (CL-60). */
export function defineHost(program: Command): void {
  const run = { hidden: false };
  program
    .command('server', run)
    .description('run the HTTP API on this host; svc server reload, svc server keys (svc server --help)');
  program.command('worker', run).description('run the workflows on this host');
  program.command('dev', run).description('run everything on this machine');
  program.command('config', run).description('check server.toml: svc config check');
}
