import type { Command } from 'commander';
import type { Bind } from '../command.js';
import { addCommonOptions, addRequestOptions, outputOption, resultFormatOption, wholeNumber } from './values.js';

export function defineExecute(program: Command, bind: Bind): void {
  const execute = program
    .command('execute')
    .description('run SQL, or request approval for it')
    .argument('[sql]', 'the SQL text; - or a pipe for standard input')
    .option('--file <path>', 'read the SQL from a file, - for stdin')
    .option('--allow-ddl', 'with --emergency: allow DDL that a review rule blocks')
    .option('--no-preflight', 'skip the check of the SQL before the request is made');
  addRequestOptions(execute).addOption(outputOption()).addOption(resultFormatOption());
  bind(execute, async () => (await import('../commands/execute.js')).execute);
}

export function defineShell(program: Command, bind: Bind): void {
  const shell = program
    .command('shell')
    .description('run SQL statements one by one, each as its own request; in a pipe, stop at the first that fails')
    .option('--no-preflight', 'skip the check of the SQL before the request is made');
  addCommonOptions(shell).addOption(resultFormatOption());
  bind(shell, async () => (await import('../commands/shell.js')).shell);
}

export function definePreflight(program: Command, bind: Bind): void {
  const preflight = program
    .command('preflight')
    .description('check SQL without running it: verdict, risk, approvers, plan (exit code 1 if it would be blocked)')
    .argument('[sql]', 'the SQL text; - or a pipe for standard input')
    .option('--file <path>', 'read the SQL from a file, - for stdin')
    .option('--no-explain', 'skip the query plan')
    .option(
      '--explain-timeout <ms>',
      'how long to wait for the query plan (default: 5000; the server sets a maximum)',
      wholeNumber,
    );
  bind(preflight, async () => (await import('../commands/preflight.js')).preflight);
}
