import { Argument, type Command } from 'commander';
import type { Bind } from '../command.js';
import { shells } from '../completion/shells.js';

export function defineCompletion(program: Command, bind: Bind): void {
  const completion = program
    .command('completion')
    .description('print a script that completes words: source <(svc completion bash)')
    .addArgument(new Argument('<shell>', 'whose script').choices([...shells]));
  bind(completion, async () => {
    const { printCompletion } = await import('../commands/completion.js');
    return async (context, args) => printCompletion(context, args, program);
  });
}
