import type { Command, Option } from 'commander';

/** Names from the configuration files. */
export interface Known {
  databases: readonly string[];
  environments: readonly string[];
}

/** What may follow an option: words, a file, or free text. */
export type Value = readonly string[] | 'file' | 'text';

export interface OptionWords {
  /** Such as `-d`, `--database`. */
  flags: readonly string[];
  /** null = takes no value. */
  value: Value | null;
  description: string;
}

/** One command and what may follow its words. */
export interface CommandWords {
  /** Its words, each with a leading slash, as in `/request/list`; empty for `svc` itself. */
  path: string;
  commands: readonly { name: string; description: string }[];
  /** Fixed values of its arguments. */
  values: readonly string[];
  options: readonly OptionWords[];
}

/** Every command of the client and of the host, with its options (CL-46). */
export function wordTable(client: Command, host: Command, known: Known): CommandWords[] {
  const general = client.options.map((option) => optionWords(option, known));
  const hostNames = host.commands.map((command) => command.name());
  return [
    ...client.commands
      .filter((command) => !hostNames.includes(command.name()))
      .flatMap((command) => walk(command, '', known, general)),
    ...host.commands.flatMap((command) => walk(command, '', known, [])),
    { path: '', commands: children(client), values: [], options: general },
  ];
}

function walk(command: Command, parent: string, known: Known, general: readonly OptionWords[]): CommandWords[] {
  const path = `${parent}/${command.name()}`;
  const options = [...command.options.map((option) => optionWords(option, known)), ...general];
  const values = argumentValues(command, known);
  return [
    { path, commands: children(command), values, options },
    ...command.commands.flatMap((child) => walk(child, path, known, general)),
  ];
}

const children = (command: Command) =>
  command.commands.map((child) => ({ name: child.name(), description: child.description() }));

function argumentValues(command: Command, known: Known): string[] {
  return command.registeredArguments.flatMap((argument) => argument.argChoices ?? namesFor(argument.name(), known) ?? []);
}

function optionWords(option: Option, known: Known): OptionWords {
  const flags = [option.short, option.long].filter((flag) => flag != null);
  return {
    flags,
    value: option.required || option.optional ? optionValue(option, known) : null,
    description: option.description,
  };
}

function optionValue(option: Option, known: Known): Value {
  const words = option.argChoices ?? namesFor(option.name(), known);
  if (words !== undefined) return words;
  return ['config', 'file', 'output', 'data'].includes(option.name()) ? 'file' : 'text';
}

function namesFor(name: string, known: Known): readonly string[] | undefined {
  if (name === 'database') return known.databases;
  return name === 'environment' ? known.environments : undefined;
}

/** Joins words into a shell word list; none of them needs quoting. */
export const list = (words: readonly string[]) => words.join(' ');

/** What may follow when no option is waiting for its value. */
export const nextWords = ({ commands, values, options }: CommandWords): string[] => [
  ...commands.map(({ name }) => name),
  ...values,
  ...options.flatMap(({ flags }) => flags),
];
