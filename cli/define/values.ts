import { InvalidArgumentError, Option } from 'commander';
import { maxTimeoutSecs } from '../limits.js';
import { resultFormats } from '../output/result-format.js';

/** A whole number, 0 or more, as the value of an option. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text) || Number(text) > 4_294_967_295) throw new InvalidArgumentError('it must be a whole number.');
  return Number(text);
}

/** Seconds of `--timeout`; 0 means none. */
export function seconds(text: string): number {
  const value = wholeNumber(text);
  if (value > maxTimeoutSecs) throw new InvalidArgumentError(`it must be at most ${maxTimeoutSecs} seconds.`);
  return value;
}

/** `a,b,c`, blanks and empty names left out. */
export function nameList(text: string): string[] {
  const names = text.split(',').flatMap((name) => name.trim() || []);
  if (names.length === 0) throw new InvalidArgumentError('it must name at least one.');
  return names;
}

/** A name of an option that may be given several times or with commas. */
export function moreNames(text: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), ...nameList(text)];
}

export function resultFormatOption(): Option {
  return new Option('--result-format <format>', 'how a result is shown').choices([...resultFormats]);
}

export function outputOption(): Option {
  return new Option('--output <file>', 'write the result to a file');
}

export function timeoutOption(): Option {
  return new Option('--timeout <secs>', 'give up waiting; the request goes on').argParser(seconds);
}
