import { endWhenUnwritable } from './broken-output.js';
import { modeOf, plainWords } from './options.js';
import { version } from './version.js';

/** Runs a command line of `svc` (without node and script) and returns its exit code. */
export async function main(given: string[]): Promise<number> {
  const argv = helpAsOption(given);
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
    endWhenUnwritable();
    process.stdout.write(`svc ${version}\n`);
    return 0;
  }
  if (isHostCommand(argv)) return (await import('./host.js')).runHostCommand(commandFirst(argv), modeOf(argv));
  const [{ runCommandLine }, { processTerminal }] = await Promise.all([import('./run.js'), import('./terminal.js')]);
  return runCommandLine(argv, processTerminal(modeOf(argv) === 'quiet'));
}

/** The first plain word decides (CL-60). */
function isHostCommand(argv: readonly string[]): boolean {
  return ['server', 'worker', 'dev', 'config'].includes(plainWords(argv)[0] ?? '');
}

/** `svc help request list` is `svc request list --help`: the parser's own `help` goes one level deep, and knows nothing of host commands. */
function helpAsOption(argv: string[]): string[] {
  const [first, ...words] = argv;
  return first === 'help' && (words.length > 1 || isHostCommand(words)) ? [...words, '--help'] : argv;
}

/** Global options may stand before a command (cli.md section 1). Each host command has its own, which follow its words. */
function commandFirst(argv: readonly string[]): string[] {
  const [command] = plainWords(argv);
  const at = argv.findIndex((word, index) => word === command && plainWords(argv.slice(0, index + 1)).length === 1);
  return [...argv.slice(at), ...argv.slice(0, at)];
}
