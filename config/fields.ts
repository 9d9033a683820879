import { z } from 'zod';
import { readText } from './expansion.js';

/** Upper bound of every integer key that names none: what a PostgreSQL integer holds. */
const MAX_INT = 2_147_483_647;

/** Says what is wrong with a text, null when nothing is. */
export type Check = (text: string) => string | null;

export const MISSING = 'is required';

const accept: Check = () => null;

/** A text that must be given and not be empty. */
export const text = (check: Check = accept) =>
  field((value, fail): string => {
    if (value === undefined) return fail(MISSING);
    return checked(value, check, fail) ?? fail('must not be empty');
  });

/** A text with a default; empty is refused. */
export const textOr = (fallback: string, check: Check = accept) =>
  field((value, fail): string => (value === undefined ? fallback : (checked(value, check, fail) ?? fail('must not be empty'))));

/** A text with a default for which empty has a meaning of its own. */
export const textOrEmpty = (fallback: string, check: Check = accept) =>
  field((value, fail): string => (value === undefined ? fallback : (checked(value, check, fail) ?? '')));

/** A text without default: absent and empty are null (CF-5). */
export const optionalText = (check: Check = accept) =>
  field((value, fail): string | null => (value === undefined ? null : checked(value, check, fail)));

export const int = (fallback: number, min: number, max = MAX_INT) =>
  field((value, fail): number => (value === undefined ? fallback : integer(value, min, max, fail)));

export const optionalInt = (min: number, max = MAX_INT) =>
  field((value, fail): number | null => (value === undefined ? null : integer(value, min, max, fail)));

export const ratio = (fallback: number) =>
  field((value, fail): number => {
    if (value === undefined) return fallback;
    const read = readText(value);
    const isNumeral = typeof value === 'number' || typeof value === 'bigint' || (read?.expanded && /^\d*\.?\d+$/.test(read.text));
    const number = isNumeral ? Number(read?.text ?? value) : Number.NaN;
    return number >= 0 && number <= 1 ? number : fail('must be a number from 0 to 1');
  });

export const bool = (fallback: boolean) =>
  field((value, fail): boolean => {
    if (value === undefined) return fallback;
    if (typeof value === 'boolean') return value;
    const read = readText(value);
    if (read?.expanded && (read.text === 'true' || read.text === 'false')) return read.text === 'true';
    return fail('must be true or false');
  });

export const choice = <T extends string>(values: readonly T[], fallback: T) =>
  field((value, fail): T => (value === undefined ? fallback : oneOf(value, values, fail)));

export const optionalChoice = <T extends string>(values: readonly T[]) =>
  field((value, fail): T | null => (value === undefined || readText(value)?.text === '' ? null : oneOf(value, values, fail)));

export const requiredChoice = <T extends string>(values: readonly T[]) =>
  field((value, fail): T => (value === undefined ? fail(MISSING) : oneOf(value, values, fail)));

/** A list of texts without repeats, empty by default. */
export const list = (check: Check = accept) => z.array(text(check)).default([]).superRefine(refuseRepeats);

/** A list of texts without repeats that must be there and not be empty. */
export const requiredList = (check: Check = accept) =>
  z.array(text(check), { error: (issue) => (issue.input === undefined ? MISSING : undefined) }).superRefine((items, context) => {
    if (items.length === 0) context.addIssue({ code: 'custom', message: 'must not be empty' });
    refuseRepeats(items, context);
  });

/** A list of texts without repeats, null when absent. */
export const optionalList = (check: Check = accept) => z.array(text(check)).superRefine(refuseRepeats).nullable().default(null);

/** A section that may be left out: its keys then have their defaults. */
export const optionalSection = <T extends z.ZodObject>(schema: T) => schema.prefault({} as never);

type Fail = (message: string) => never;

class Failure extends Error {}

/** Every leaf is read by hand, so that each message is ours and none holds the value (CF-I5). */
function field<T>(read: (value: unknown, fail: Fail) => T) {
  return z
    .unknown()
    .optional()
    .transform((value, context): T => {
      try {
        return read(value, (message) => {
          throw new Failure(message);
        });
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        context.addIssue({ code: 'custom', message: error.message });
        return z.NEVER;
      }
    });
}

function checked(value: unknown, check: Check, fail: Fail): string | null {
  const read = readText(value);
  if (read === null) return fail('must be a string');
  if (read.text === '') return null;
  const problem = check(read.text);
  return problem === null ? read.text : fail(problem);
}

function integer(value: unknown, min: number, max: number, fail: Fail): number {
  const read = readText(value);
  const isNumeral = read?.expanded === true && /^[+-]?\d{1,15}$/.test(read.text);
  if (typeof value !== 'bigint' && !isNumeral) return fail('must be an integer');
  const number = Number(read?.text ?? value);
  if (number >= min && number <= max) return number;
  return fail(`must be ${min} to ${max}`);
}

function oneOf<T extends string>(value: unknown, values: readonly T[], fail: Fail): T {
  const text = readText(value)?.text;
  return values.find((known) => known === text) ?? fail(`must be one of ${values.join(', ')}`);
}

function refuseRepeats(items: string[], context: z.RefinementCtx): void {
  items.forEach((item, index) => {
    if (items.indexOf(item) < index) context.addIssue({ code: 'custom', message: 'is there twice', path: [index] });
  });
}
