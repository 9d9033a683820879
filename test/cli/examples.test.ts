import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { examples } from '../../cli/define/examples.js';
import { hostCommands } from '../../cli/host.js';
import { clientCommands, parseCommandLine } from '../../cli/program.js';
import { runSvc } from './run-svc.js';

interface Page {
  path: string;
  command: Command;
  isHost: boolean;
}

function pagesOf(command: Command, isHost: boolean, path = ''): Page[] {
  return [
    { path, command, isHost },
    ...command.commands.flatMap((child) => pagesOf(child, isHost, `${path} ${child.name()}`.trim())),
  ];
}

const pages = [...pagesOf(clientCommands(), false), ...pagesOf(hostCommands(), true)];
const hostWords = new Set(hostCommands().commands.map((command) => command.name()));

/** As a shell splits it, up to a redirection or another command. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => ({
    text: quoted ?? plain!,
    quoted: quoted !== undefined,
  }));
  const end = words.findIndex(({ text, quoted }) => !quoted && /^([<>|]|&&)$/.test(text));
  return words.slice(0, end === -1 ? undefined : end).map(({ text }) => text);
}

/** The words of the command that a line chooses; throws where it does not parse. */
function chosenBy(line: string): string {
  const argv = wordsOf(line);
  if (!hostWords.has(argv[0]!)) {
    const parsed = parseCommandLine(argv, '0.0.0');
    return parsed.kind === 'command' ? parsed.chosen.what : '';
  }
  const program = hostCommands();
  let ran = '';
  const visit = (command: Command, path: string): void => {
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    command.hook('preAction', (_, chosen) => {
      if (chosen === command) ran = path;
    });
    for (const child of command.commands) visit(child, `${path} ${child.name()}`.trim());
  };
  visit(program, '');
  program.parse(argv, { from: 'user' });
  return ran;
}

describe('help (CL-39)', () => {
  it.each(pages.map(({ path, command }) => [path, command] as const))('svc %s has two examples, which parse', (path, command) => {
    let help = '';
    command.configureOutput({ writeOut: (part) => (help += part) }).outputHelp();
    const shown = help.split('\nExamples:\n')[1]?.trimEnd().split('\n') ?? [];
    expect(shown).toHaveLength(2);
    expect(new Set(shown).size).toBe(2);
    for (const line of shown) {
      expect(line).toMatch(/^ {2}svc \S/);
      const chosen = chosenBy(line.slice('  svc '.length));
      const isLast = path !== '' && !pages.some((page) => page.path.startsWith(`${path} `));
      expect(isLast ? chosen : chosen.slice(0, path.length)).toBe(path);
    }
  });

  it('has no examples of commands that do not exist, and asks no server for help', async () => {
    expect(Object.keys(examples).filter((path) => !pages.some((page) => page.path === path))).toEqual([]);
    const { code, stdout } = await runSvc(['request', 'watch', '--help']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('\nExamples:\n  svc request watch 4f0c9d0e\n')]);
  });
});
