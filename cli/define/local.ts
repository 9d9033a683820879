import { Argument, type Command } from 'commander';
import type { Bind } from '../command.js';
import { shells } from '../completion/shells.js';

/** The commands that run here and ask no server. */
export function defineLocal(program: Command, bind: Bind): void {
  defineTrust(program, bind);
  defineCompletion(program, bind);
  defineInit(program, bind);
  defineHost(program);
}

function defineTrust(program: Command, bind: Bind): void {
  const trust = program
    .command('trust')
    .description('allow the svc.toml in this folder to send your credentials to its server')
    .argument('[url]', 'server address in svc.toml (default: ask)')
    .option('--list', 'list trusted addresses')
    .option('--remove', 'stop trusting the address, or every address of this folder');
  bind(trust, async () => (await import('../commands/trust.js')).trust);
}

function defineCompletion(program: Command, bind: Bind): void {
  const completion = program
    .command('completion')
    .description('print a shell completion script: source <(svc completion bash)')
    .addArgument(new Argument('<shell>', 'your shell').choices([...shells]));
  bind(completion, async () => {
    const { printCompletion } = await import('../commands/completion.js');
    return async (context, args) => printCompletion(context, args, program);
  });
}

function defineInit(program: Command, bind: Bind): void {
  const init = program
    .command('init')
    .description('write svc.toml, server.toml and agent.toml as a starting point')
    .option('--output-dir <dir>', 'folder to write to', '.')
    .option('--force', 'overwrite existing files')
    .option('--dry-run', 'print the files instead of writing them');
  bind(init, async () => (await import('../commands/init.js')).init);
}

/** Only for the help: `main.ts` passes these commands to `host.ts` before parsing (CL-60). */
function defineHost(program: Command): void {
  program.command('server').description('run the HTTP API on this host; also svc server reload and svc server keys');
  program.command('worker').description('run the workflow worker on this host');
  program.command('dev').description('run a demo of everything on this machine');
  program.command('config').description('check server.toml: svc config check');
}
