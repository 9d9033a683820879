import { Command, CommanderError, Help, Option } from 'commander';
import type { Bind, Chosen, Run } from './command.js';
import { defineAdministration } from './define/administration.js';
import { defineConsole } from './define/console.js';
import { defineDatabases, defineSchema } from './define/databases.js';
import { defineDoctor } from './define/doctor.js';
import { defineEvidence } from './define/evidence.js';
import { addExamples } from './define/examples.js';
import { defineExecute, definePreflight, defineShell } from './define/execute.js';
import { defineWhoami } from './define/identity.js';
import { defineLicense } from './define/license.js';
import { defineLocal } from './define/local.js';
import { defineLogin } from './define/login.js';
import { defineMcp } from './define/mcp.js';
import { defineMigrate } from './define/migrate.js';
import { definePolicy } from './define/policy.js';
import { defineRequest } from './define/request.js';
import { defineSlack } from './define/slack.js';
import { defineWebhook } from './define/webhook.js';
import { failure } from './failure.js';
import { plainWords } from './options.js';
import { maxShownChoices, usageError, wordsOf } from './usage.js';

export type Parsed = { kind: 'text'; text: string } | { kind: 'command'; chosen: Chosen };

/** Parses a command line; a bad one is a `usage` failure (CL-01). Reads no files and sends nothing. */
export function parseCommandLine(argv: readonly string[], version: string): Parsed {
  let chosen: Chosen | undefined;
  let text = '';
  const bind: Bind = (command, load) => {
    command.action(() => {
      chosen = {
        what: wordsOf(command),
        args: command.args,
        options: command.optsWithGlobals(),
        load: load as () => Promise<Run<never>>,
      };
    });
  };
  const [group, command] = plainWords(argv);
  // In `migrate repair`, `--version V` names a migration; everywhere else it is the program's option.
  const program = createProgram(group === 'migrate' && command === 'repair' ? null : version, bind);
  const collect = (part: string) => {
    text += part;
  };
  forEach(
    program,
    (command) =>
      void command.exitOverride().configureOutput({ writeOut: collect, writeErr: () => undefined, outputError: () => undefined }),
  );
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: 'text', text };
    const { message, hint } = usageError(error, program, argv);
    throw failure('usage', message, { hint });
  }
  if (!chosen) throw failure('usage', 'no command is given', { hint: 'svc --help' });
  const { format, json } = chosen.options;
  if (json === true && format !== undefined && format !== 'json')
    throw failure('usage', '--json and --format cannot be used together');
  if ((format === 'github' || format === 'sarif') && chosen.what !== 'migrate lint')
    throw failure('usage', `--format ${format} goes with migrate lint only`);
  return { kind: 'command', chosen };
}

/** The tree of client commands, to read their words. */
export const clientCommands = (): Command => createProgram(null, () => {});

function createProgram(version: string | null, bind: Bind): Command {
  const program = new Command('svc').description('Run SQL through the Database Change Gateway.');
  if (version !== null) program.version(`svc ${version}`, '-v, --version', 'print the version');
  program
    .option('--config <path>', 'read this file instead of svc.toml and the global file (SVC_CONFIG)')
    .option('--merge-global', 'also read the global file')
    .option('-d, --database <name>', 'database (SVC_DATABASE)')
    .option('-e, --environment <env>', 'environment (SVC_ENV)')
    .addOption(
      new Option('--format <mode>', 'output format; github and sarif only for migrate lint').choices([
        'human',
        'json',
        'quiet',
        'github',
        'sarif',
      ]),
    )
    .option('--json', 'the same as --format json')
    .option('--allow-insecure', 'allow plain http to other hosts (SVC_ALLOW_INSECURE)')
    .option('-y, --yes', 'do not ask for confirmation (SVC_YES)')
    .option('--no-color', 'disable colours (NO_COLOR)')
    .option('--no-pager', 'do not show long output in a pager (SVC_NO_PAGER)')
    .helpOption('-h, --help', 'print help');
  defineExecute(program, bind);
  defineShell(program, bind);
  defineSchema(program, bind);
  defineLogin(program, bind);
  defineWhoami(program, bind);
  defineConsole(program, bind);
  defineMigrate(program, bind);
  definePreflight(program, bind);
  defineRequest(program, bind);
  defineEvidence(program, bind);
  defineDatabases(program, bind);
  definePolicy(program, bind);
  defineWebhook(program, bind);
  defineSlack(program, bind);
  defineAdministration(program, bind);
  defineLicense(program, bind);
  defineMcp(program, bind);
  defineDoctor(program, bind);
  defineLocal(program, bind);
  const help = { optionDescription, minWidthToWrap: 30 };
  forEach(program, (command) => void command.configureHelp({ ...help, showGlobalOptions: command !== program }));
  addExamples(program);
  return program;
}

function optionDescription(option: Option): string {
  return (option.argChoices?.length ?? 0) > maxShownChoices ? option.description : new Help().optionDescription(option);
}

function forEach(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) forEach(child, visit);
}
