import { type Command, InvalidArgumentError, Option } from 'commander';
import { resultFormats } from '../output/result-format.js';

/** The longest `--timeout`: Node's timers are limited to 2^31 - 1 ms. */
const maxTimeoutSecs = 2_147_483;

/** Parses a whole number, 0 or more. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text) || Number(text) > 4_294_967_295) throw new InvalidArgumentError('it must be a whole number.');
  return Number(text);
}

/** Parses a whole number, 1 or more. */
export function positiveNumber(text: string): number {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError('it must be at least 1.');
  return value;
}

/** Parses the seconds of `--timeout`; 0 = none. */
export function seconds(text: string): number {
  const value = wholeNumber(text);
  if (value > maxTimeoutSecs) throw new InvalidArgumentError(`it must be at most ${maxTimeoutSecs} seconds.`);
  return value;
}

/** Parses the seconds of a wait that must end. */
export function positiveSeconds(text: string): number {
  positiveNumber(text);
  return seconds(text);
}

/** Splits `a,b,c`; drops blanks and empty names. */
export function nameList(text: string): string[] {
  const names = text.split(',').flatMap((name) => name.trim() || []);
  if (names.length === 0) throw new InvalidArgumentError('it must name at least one.');
  return names;
}

/** Collects names from an option that may be repeated or comma-separated. */
export function moreNames(text: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), ...nameList(text)];
}

/** Parses `SEQ:HASH`, as `audit verify` prints it. */
export function auditAnchor(text: string): { seq: number; hash: string } {
  const [, seq, hash] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined)
    throw new InvalidArgumentError('it must be a number, a colon and 64 lower-case hexadecimal digits.');
  return { seq: Number(seq), hash };
}

/** Collects public keys from an option that may be repeated. */
export const publicKeys = (text: string, previous: string[] | undefined): string[] => [...(previous ?? []), publicKey(text)];

export function publicKey(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new InvalidArgumentError('it must be 64 hexadecimal digits.');
  return text.toLowerCase();
}

export function resultFormatOption(): Option {
  return new Option('--result-format <format>', 'format of the result').choices([...resultFormats]);
}

export function outputOption(): Option {
  return new Option('--output <file>', 'write the result to a file').argParser(outputFile);
}

/** `-` is standard input elsewhere, and no file that somebody wants. */
export function outputFile(text: string): string {
  if (text === '-') throw new InvalidArgumentError('it must be a file.');
  return text;
}

export function timeoutOption(): Option {
  return new Option('--timeout <secs>', 'stop waiting after this many seconds; the request continues').argParser(seconds);
}

/** Options of every command that creates one request. */
export function addRequestOptions(command: Command): Command {
  return addCommonOptions(command)
    .option('--emergency', 'run without approval (break glass); needs --reason')
    .option('--idempotency-key <key>', 'repeating a command with the same key makes no second request');
}

/** Options of every command that creates requests. */
export function addCommonOptions(command: Command): Command {
  return command
    .option('--reason <text>', 'why; shown to the approvers')
    .option('--wait', 'wait for approval, then run it')
    .addOption(timeoutOption())
    .option('--ask', 'require approval, even if the policy would approve it automatically')
    .option('--no-result-store', 'do not store the result')
    .option('--share-with <id...>', 'who else may see the request and its result: user ids, group:NAME, role:NAME')
    .option('--ticket <text>', 'ticket number or link, recorded with the request')
    .option('--repo <text>', 'repository, recorded with the request');
}
