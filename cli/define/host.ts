import type { Command } from 'commander';

/** Only for the help: `main.ts` hands these to `host.ts` before the words are parsed here (CL-60). */
export function defineHost(program: Command): void {
  const run = { hidden: false };
  program.command('server', run).description('run the HTTP API on this host (svc server --help)');
  program.command('worker', run).description('run the workflows on this host');
  program.command('dev', run).description('run everything on this machine');
  program.command('config', run).description('check server.toml: svc config check');
}
