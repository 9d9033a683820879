import type { Command } from 'commander';
import { bashScript } from '../completion/bash.js';
import { fishScript } from '../completion/fish.js';
import type { Shell } from '../completion/shells.js';
import { type Known, wordTable } from '../completion/words.js';
import { zshScript } from '../completion/zsh.js';
import { loadLayers } from '../config/layers.js';
import type { Context } from '../context.js';
import { hostCommands } from '../host.js';
import type { Answer } from '../output/output.js';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** `svc completion SHELL`: calls no server, expands no variables, and omits names when the files cannot be read (CL-46). */
export async function printCompletion(context: Context, [shell]: readonly string[], program: Command): Promise<Answer> {
  const script = scripts[shell as Shell](wordTable(program, hostCommands(), namesOf(context)));
  return { data: JSON.stringify(script), human: () => script };
}

/** The files' names; anything that is not a valid name (HT-71) would be code in a shell. */
function namesOf({ options, terminal }: Context): Known {
  try {
    const { files } = loadLayers(options, terminal, () => undefined);
    const values = (key: string) => files.flatMap((file) => file.values.get(key) ?? []);
    return {
      databases: names([...files.flatMap((file) => file.databases), ...values('default_database')]),
      environments: names(values('default_environment')),
    };
  } catch {
    return { databases: [], environments: [] };
  }
}

const names = (values: readonly (string | boolean)[]) => [
  ...new Set(values.filter((value) => typeof value === 'string').filter((value) => /^[a-z][a-z0-9_-]{0,62}$/.test(value))),
];
