import type { Command, CommanderError } from 'commander';
import { nearest } from '../lib/nearest.js';
import { plainWords } from './options.js';

/** A bad command line in plain words, and what helps. */
export interface UsageError {
  message: string;
  hint: string;
}

/** More choices would hide the rest of a help page or a suggestion; completion offers them all. */
export const maxShownChoices = 12;

/** What commander refused, in the words of the other messages (CL-01). */
export function usageError(error: CommanderError, program: Command, argv: readonly string[]): UsageError {
  const command = deepest(program, argv);
  const help = command === program ? 'svc --help' : `svc ${wordsOf(command)} --help`;
  const message = error.message.replace(/^error: /, '');
  if (error.code === 'commander.help') return { message: missingCommand(argv), hint: help };
  if (error.code === 'commander.excessArguments') return tooMany(command, help);
  if (error.code === 'commander.unknownOption' && /'.*\s/s.test(withoutSuggestion(message)))
    return { message: 'text that begins with - is taken for an option', hint: 'put SQL that begins with - after --' };
  return { message: oneLine(message), hint: help };
}

/** The words of a command, without `svc`. */
export function wordsOf(command: Command): string {
  const parent = command.parent;
  return parent?.parent ? `${wordsOf(parent)} ${command.name()}` : command.name();
}

/** For a group without a subcommand, commander prints the help on stderr; here it is a usage error like the others. */
function missingCommand(argv: readonly string[]): string {
  const [group, topic] = plainWords(argv);
  if (group === 'help' && topic !== undefined) return `unknown command '${topic}'`;
  return group === undefined ? 'no command is given' : 'a subcommand is missing';
}

/** Commander only counts them. Where a subcommand could stand, the word is a misspelt one. */
function tooMany(command: Command, help: string): UsageError {
  // The default command of a group was given the word.
  const parsed = command.commands.find(({ args }) => args.length > 0) ?? command;
  const taken = parsed.registeredArguments;
  const word = parsed.args[taken.length] ?? '';
  const near = nearest(
    word,
    command.commands.map((child) => child.name()),
  );
  if (command.commands.length > 0) return { message: `unknown command '${word}'${meant(near)}`, hint: help };
  const hint = taken.some((argument) => argument.name() === 'sql') ? 'put the SQL in quotes' : help;
  return { message: `unexpected argument '${word}'`, hint };
}

const meant = (near: string | null) => (near === null ? '' : ` (did you mean ${near}?)`);

const oneLine = (message: string): string =>
  message
    .replace(/\n\(Did you mean /, ' (did you mean ')
    .replace(/^unknown option '(.*?)'/, 'unknown option $1')
    .replace(/^missing required argument '(.*)'/, '<$1> is missing')
    .replace(/^option '(?:-\w, )?(--[\w-]+).*?' argument missing$/, '$1 needs a value')
    .replace(/^required option '(?:-\w, )?(--[\w-]+).*?' not specified$/, '$1 is missing')
    .replace(/^option '(?:-\w, )?(--[\w-]+).*?' argument '(.*)' is invalid\. /s, "$1 does not take '$2': ")
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*)'\. /s, "$2 cannot be '$1': ")
    .replace(/'(.*)': Allowed choices are (.*)\.$/s, (_, given: string, choices: string) => allowed(given, choices.split(', ')))
    .replace(/\.$/, '')
    .split('\n')
    .join('; ');

function allowed(given: string, choices: readonly string[]): string {
  const near = nearest(given, choices);
  const all = near !== null && choices.length > maxShownChoices ? '' : `: the choices are ${choices.join(', ')}`;
  return `'${given}'${meant(near)}${all}`;
}

/** Only commander's text has the option itself: `unknown option '--fiel'`, and a line with those that may be meant. */
const withoutSuggestion = (message: string): string => message.split('\n(Did you mean ', 1)[0] ?? '';

/** The deepest command that the words name. */
function deepest(program: Command, argv: readonly string[]): Command {
  let command = program;
  for (const word of argv) command = command.commands.find((child) => child.name() === word) ?? command;
  return command;
}
