/**
 * Runs a program and stops it when standard input ends, which happens whenever the parent is gone. Used where the kernel cannot
 * do this (no `setpriv --pdeathsig`): node leash.mjs SIGNAL PROGRAM [ARGUMENT...]
 */
import { spawn } from 'node:child_process';

const [deathSignal, file, ...args] = process.argv.slice(2);
const child = spawn(file, args, { stdio: ['ignore', 'inherit', 'inherit'] });

child.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
});
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGKILL' ? 137 : 1)));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
process.stdin.on('end', () => child.kill(deathSignal)).on('error', () => child.kill(deathSignal));
process.stdin.resume();
