import { runCommandLine } from '../../cli/run.js';
import { processTerminal } from '../../cli/terminal.js';

/** `svc trust ADDRESS` in a folder. */
const [folder = '', address = ''] = process.argv.slice(2);
process.chdir(folder);
process.exitCode = await runCommandLine(['trust', address], processTerminal());
