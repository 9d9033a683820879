import { fileFault } from '../lib/file-fault.js';

/**
 * Ends the process when what it prints cannot be written: quietly when nobody reads it any more, else with the reason, which would look like a short
 * answer. Without a reader of stderr it goes on: what is written there only accompanies the work.
 */
export function endWhenUnwritable(isQuiet = false): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && !isQuiet)
      process.stderr.write(`error: standard output cannot be written (${fileFault(error)})\n`);
    process.exit(1);
  });
  process.stderr.on('error', () => undefined);
}
