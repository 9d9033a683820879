import { type Command, InvalidArgumentError } from 'commander';
import type { Bind } from '../command.js';
import { positiveNumber } from './values.js';

export function defineDoctor(program: Command, bind: Bind): void {
  const command = program
    .command('doctor')
    .description('check the set-up: what is wrong, and what to do next')
    .option('--agent <file>', 'check an agent.toml instead: the gateway, its databases, markers')
    .option('--server <file>', 'check a server.toml instead, without connecting to anything')
    .option('--timeout <secs>', 'time limit for each check in seconds, 1 to 60', secondsOfLook, 5);
  bind(command, async () => (await import('../commands/doctor.js')).doctor);
}

function secondsOfLook(text: string): number {
  const value = positiveNumber(text);
  if (value > 60) throw new InvalidArgumentError('it must be at most 60 seconds.');
  return value;
}
