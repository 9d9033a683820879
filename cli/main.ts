import { version } from './version.js';

/** The program `svc`: runs a command line (without node and script) and answers its exit code. */
export async function main(argv: string[]): Promise<number> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
    process.stdout.write(`svc ${version}\n`);
    return 0;
  }
  if (isHostCommand(argv)) return (await import('./host.js')).runHostCommand(argv);
  const [{ runCommandLine }, { processTerminal }] = await Promise.all([import('./run.js'), import('./terminal.js')]);
  return runCommandLine(argv, processTerminal());
}

/** The first word that is neither an option nor the value of one says whose command it is (CL-60). */
function isHostCommand(argv: readonly string[]): boolean {
  const first = argv.find((word, index) => !word.startsWith('-') && !valueOptions.has(argv[index - 1] ?? ''));
  return first !== undefined && ['server', 'worker', 'dev', 'config'].includes(first);
}

const valueOptions = new Set(['--config', '--database', '-d', '--environment', '-e', '--format']);
