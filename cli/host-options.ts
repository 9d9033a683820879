import { type Command, InvalidArgumentError, Option } from 'commander';
import { isHostPort } from '../lib/host-port.js';

/** The output modes of the client's commands. */
export type Mode = 'human' | 'json' | 'quiet';

export const formatOptions = (command: Command): Command =>
  command
    .addOption(new Option('--format <mode>', 'output format').choices(['human', 'json', 'quiet']))
    .option('--json', 'the same as --format json');

/** CF-1: `server.toml` in the working directory by default. */
export function configOption(): Option {
  return new Option('--config <file>', 'path of server.toml').default('server.toml');
}

/** `--config` in any position: a parent command consumes it before the child sees it. */
export function configOf(command: Command): string {
  return command.optsWithGlobals<{ config: string }>().config;
}

/** The rule of `server.listen`. */
export function hostPort(text: string): string {
  if (!isHostPort(text)) throw new InvalidArgumentError('it must be host:port.');
  return text;
}

export const overlapOption = () =>
  new Option('--overlap <time>', 'how long agents that do not know the new key may use the old one')
    .argParser(duration)
    .default(86_400, '24h');

/** Parses `90s`, `30m`, `24h` or `7d` into seconds; at most a year. */
function duration(text: string): number {
  const [, count, unit] = /^(\d{1,8})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * { s: 1, m: 60, h: 3600, d: 86_400 }[unit as 's' | 'm' | 'h' | 'd'];
  if (!(seconds >= 60 && seconds <= 31_536_000)) throw new InvalidArgumentError('it must be 1m to 365d, such as 24h.');
  return seconds;
}
