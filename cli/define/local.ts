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
    .description('let the svc.toml of this folder send your credentials to its address')
    .argument('[url]', 'the address that svc.toml names; without it you are asked')
    .option('--list', 'what is trusted')
    .option('--remove', 'trust it no longer; without an address nothing of this folder');
  bind(trust, async () => (await import('../commands/trust.js')).trust);
}

function defineCompletion(program: Command, bind: Bind): void {
  const completion = program
    .command('completion')
    .description('print a script that completes words: source <(svc completion bash)')
    .addArgument(new Argument('<shell>', 'whose script').choices([...shells]));
  bind(completion, async () => {
    const { printCompletion } = await import('../commands/completion.js');
    return async (context, args) => printCompletion(context, args, program);
  });
}

function defineInit(program: Command, bind: Bind): void {
  const init = program
    .command('init')
    .description('write svc.toml, server.toml and agent.toml to start from')
    .option('--output-dir <dir>', 'where', '.')
    .option('--force', 'write over files that are there')
    .option('--dry-run', 'show them, write nothing');
  bind(init, async () => (await import('../commands/init.js')).init);
}

/** Only for the help: `main.ts` passes these commands to `host.ts` before parsing (CL-60). */
function defineHost(program: Command): void {
  program.command('server').description('run the HTTP API on this host; svc server reload, svc server keys (svc server --help)');
  program.command('worker').description('run the workflows on this host');
  program.command('dev').description('run everything on this machine');
  program.command('config').description('check server.toml: svc config check');
}
