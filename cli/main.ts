import { modeOf, plainWords } from './options.js';
import { version } from './version.js';

/** Runs a command line of `svc` (without node and script) and returns its exit code. */
export async function main(argv: string[]): Promise<number> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
    process.stdout.write(`svc ${version}\n`);
    return 0;
  }
  if (isHostCommand(argv)) return (await import('./host.js')).runHostCommand(argv, modeOf(argv));
  const [{ runCommandLine }, { processTerminal }] = await Promise.all([import('./run.js'), import('./terminal.js')]);
  return runCommandLine(argv, processTerminal());
}

/** The first plain word decides (CL-60). */
function isHostCommand(argv: readonly string[]): boolean {
  return ['server', 'worker', 'dev', 'config'].includes(plainWords(argv)[0] ?? '');
}
