import type { Command } from 'commander';
import type { Bind } from '../command.js';
import { addRequestOptions, outputOption, resultFormatOption, wholeNumber } from './values.js';

export function defineExecute(program: Command, bind: Bind): void {
  const execute = program
    .command('execute')
    .description('run SQL, or ask for the approval that it needs')
    .argument('[sql]', 'the SQL text')
    .option('--file <path>', 'read the SQL from a file, - for stdin')
    .option('--allow-ddl', 'with --emergency: lift the blocks on DDL');
  addRequestOptions(execute).addOption(outputOption()).addOption(resultFormatOption());
  bind(execute, async () => (await import('../commands/execute.js')).execute);
}

export function definePreflight(program: Command, bind: Bind): void {
  const preflight = program
    .command('preflight')
    .description('what a request would come to: verdict, risk, approvers and plan; makes none, exit 1 when it would be blocked')
    .argument('[sql]', 'the SQL text')
    .option('--file <path>', 'read the SQL from a file, - for stdin')
    .option('--no-explain', 'do not ask for the plan of the database')
    .option('--explain-timeout <ms>', 'how long to wait for the plan (5000; the server has a limit)', wholeNumber);
  bind(preflight, async () => (await import('../commands/preflight.js')).preflight);
}
