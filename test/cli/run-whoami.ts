import { runCommandLine } from '../../cli/run.js';
import { processTerminal } from '../../cli/terminal.js';

/** `svc whoami` with a configuration file. */
process.exitCode = await runCommandLine(['--config', process.argv[2] ?? '', 'whoami', '--json'], processTerminal());
