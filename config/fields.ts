import { z } from 'zod';
import { readText } from './expansion.js';
import type { Path } from './positions.js';

/** Upper bound of every integer key that names none: what a PostgreSQL integer holds. */
const MAX_INT = 2_147_483_647;

/** Says what is wrong with a text, null when nothing is. */
export type Check = (text: string) => string | null;

export const MISSING = 'is required';

/** Stands for a text with an error; no valid name is empty. */
export const UNREAD = '';

const accept: Check = () => null;

/** A text that must be given and not be empty. */
export const text = (check: Check = accept) => field(UNREAD, (value, fail) => requiredText(value, check, fail));

/** A text with a default; empty is refused. */
export const textOr = (fallback: string, check: Check = accept) =>
  field(UNREAD, (value, fail) => (value === undefined ? fallback : requiredText(value, check, fail)));

/** A text with a default for which empty has a meaning of its own. */
export const textOrEmpty = (fallback: string, check: Check = accept) =>
  field(UNREAD, (value, fail) => (value === undefined ? fallback : (checked(value, check, fail) ?? '')));

/** A text without default: absent and empty are null (CF-5). */
export const optionalText = (check: Check = accept) =>
  field<string | null>(null, (value, fail) => (value === undefined ? null : checked(value, check, fail)));

export const int = (fallback: number, min: number, max = MAX_INT) =>
  field(fallback, (value, fail) => (value === undefined ? fallback : integer(value, min, max, fail)));

export const optionalInt = (min: number, max = MAX_INT) =>
  field<number | null>(null, (value, fail) => (value === undefined ? null : integer(value, min, max, fail)));

export const ratio = (fallback: number) =>
  field(fallback, (value, fail) => {
    if (value === undefined) return fallback;
    const read = readText(value);
    const isNumeral = typeof value === 'number' || typeof value === 'bigint' || (read?.expanded && /^\d*\.?\d+$/.test(read.text));
    const number = isNumeral ? Number(read?.text ?? value) : Number.NaN;
    return number >= 0 && number <= 1 ? number : fail('must be a number from 0 to 1');
  });

export const bool = (fallback: boolean) =>
  field(fallback, (value, fail) => {
    if (value === undefined) return fallback;
    if (typeof value === 'boolean') return value;
    const read = readText(value);
    if (read?.expanded && (read.text === 'true' || read.text === 'false')) return read.text === 'true';
    return fail('must be true or false');
  });

export const choice = <T extends string>(values: readonly T[], fallback: T) =>
  field(fallback, (value, fail) => (value === undefined ? fallback : oneOf(value, values, fail)));

export const optionalChoice = <T extends string>(values: readonly T[]) =>
  field<T | null>(null, (value, fail) =>
    value === undefined || readText(value)?.text === '' ? null : oneOf(value, values, fail),
  );

export const requiredChoice = <T extends string>(values: readonly [T, ...T[]]) =>
  field<T>(values[0], (value, fail) => (value === undefined ? fail(MISSING) : oneOf(value, values, fail)));

/** A list of texts without repeats, empty by default. */
export const list = (check: Check = accept) =>
  field([UNREAD], (value, fail, tell) => (value === undefined ? [] : texts(value, check, fail, tell)));

/** A list of texts without repeats that must be there and not be empty. */
export const requiredList = (check: Check = accept) =>
  field([UNREAD], (value, fail, tell) => {
    const items = value === undefined ? fail(MISSING) : texts(value, check, fail, tell);
    return items.length === 0 ? fail('must not be empty') : items;
  });

/** A list of texts without repeats, null when absent. */
export const optionalList = (check: Check = accept) =>
  field<string[] | null>(null, (value, fail, tell) => (value === undefined ? null : texts(value, check, fail, tell)));

/** A section that may be left out: its keys then have their defaults. */
export const optionalSection = <T extends z.ZodObject>(schema: T) => schema.prefault({} as never);

type Tell = (message: string, path?: Path) => void;

/**
 * A rule over several keys of a table, told beside the errors of its other keys (CF-5); it is asked only when the keys it looks at, dotted
 * paths, could be read.
 */
export function withRule<T extends z.ZodObject>(schema: T, keys: string[], rule: (table: z.output<T>, tell: Tell) => void): T {
  const looksAt = keys.map((key) => key.split('.'));
  const isBlocked = (path: readonly PropertyKey[]) =>
    looksAt.some((key) => path.length <= key.length && path.every((part, index) => part === key[index]));
  return schema.superRefine((table, context) => rule(table, tellOf(context)), {
    when: ({ issues }) => isShaped(issues) && !issues.some(({ path = [] }) => isBlocked(path)),
  });
}

/** What of a table could be read: stand-ins are where single keys have errors, undefined when tables or lists are missing in it. */
export function readPartly<T extends z.ZodType>(
  schema: T,
  value: unknown,
): { issues: z.core.$ZodIssue[]; partial?: z.output<T> } {
  let partial: z.output<T> | undefined;
  const capture = (table: z.output<T>) => {
    partial = table;
  };
  const parsed = schema.superRefine(capture, { when: ({ issues }) => isShaped(issues) }).safeParse(value);
  return { issues: parsed.error?.issues ?? [], ...(partial === undefined ? {} : { partial }) };
}

/** Errors of our own are about single keys; the others are about the shape of tables and lists. */
const isShaped = (issues: readonly { code?: string }[]) => issues.every(({ code }) => code === 'custom');

const tellOf =
  (context: z.RefinementCtx): Tell =>
  (message, path = []) =>
    context.addIssue({ code: 'custom', message, path: [...path] });

type Fail = (message: string) => never;

class Failure extends Error {}

/**
 * Every leaf is read by hand, so that each message is ours and none holds the value (CF-I5). A leaf with an error is `standIn`, so that rules
 * about other keys can be asked all the same.
 */
function field<T>(standIn: T, read: (value: unknown, fail: Fail, tell: Tell) => T) {
  return z
    .unknown()
    .optional()
    .transform((value, context): T => {
      const tell = tellOf(context);
      const fail = (message: string) => {
        throw new Failure(message);
      };
      try {
        return read(value, fail, tell);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        tell(error.message);
        return standIn;
      }
    });
}

function requiredText(value: unknown, check: Check, fail: Fail): string {
  if (value === undefined) return fail(MISSING);
  return checked(value, check, fail) ?? fail('must not be empty');
}

function texts(value: unknown, check: Check, fail: Fail, tell: Tell): string[] {
  if (!Array.isArray(value)) return fail('must be a list');
  const seen = new Set<string>();
  return value.map((item, index) => {
    const text = textOf(item, check, (message) => tell(message, [index]));
    if (text !== UNREAD && seen.has(text)) tell('is there twice', [index]);
    seen.add(text);
    return text;
  });
}

/** `requiredText` that tells instead of failing. */
function textOf(value: unknown, check: Check, tell: (message: string) => void): string {
  try {
    return requiredText(value, check, (message) => {
      throw new Failure(message);
    });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    tell(error.message);
    return UNREAD;
  }
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
