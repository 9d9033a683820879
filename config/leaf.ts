import { z } from 'zod';
import { readText } from './expansion.js';
import type { Path } from './positions.js';

/** Returns what is wrong with a text, or null. `about` is its rule in the table of keys. */
export type Check = ((text: string) => string | null) & { about?: string };

/** What the table of keys says of a leaf. Without `fallback` it says that there is no default, or that the key is required. */
export interface KeyAbout {
  type: 'string' | 'integer' | 'number' | 'boolean' | 'list of strings';
  fallback?: string | number | boolean | readonly string[];
  isRequired?: boolean;
  rule?: string;
}

export const MISSING = 'is required';

/** Stands for a text with an error. No valid name is empty. */
export const UNREAD = '';

export type Tell = (message: string, path?: Path) => void;

/** Adds issues of our own, which `custom` tells apart from those about the shape. */
export const tellOf =
  (context: z.RefinementCtx): Tell =>
  (message, path = []) =>
    context.addIssue({ code: 'custom', message, path: [...path] });

type Fail = (message: string) => never;

class Failure extends Error {}

/**
 * Reads every leaf by hand, so that each message is ours and none holds the value (CF-I5). A leaf with an error becomes
 * `standIn`, so that rules about other keys are still asked.
 */
export function field<T>(about: KeyAbout, standIn: T, read: (value: unknown, fail: Fail, tell: Tell) => T) {
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
    })
    .meta({ about });
}

export function requiredText(value: unknown, check: Check, fail: Fail): string {
  if (value === undefined) return fail(MISSING);
  return checked(value, check, fail) ?? fail('must not be empty');
}

export function texts(value: unknown, check: Check, fail: Fail, tell: Tell): string[] {
  const items = words(value, check, fail, tell);
  items.forEach((text, index) => {
    if (text !== UNREAD && items.indexOf(text) < index) tell('appears twice', [index]);
  });
  return items;
}

/** Texts whose order counts, and which may be there twice. */
export function words(value: unknown, check: Check, fail: Fail, tell: Tell): string[] {
  if (!Array.isArray(value)) return fail('must be a list');
  return value.map((item, index) => textOf(item, check, (message) => tell(message, [index])));
}

/** Like `requiredText`, but reports instead of failing. */
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

export function checked(value: unknown, check: Check, fail: Fail): string | null {
  const read = readText(value);
  if (read === null) return fail('must be a string');
  if (read.text === '') return null;
  const problem = check(read.text);
  return problem === null ? read.text : fail(problem);
}

export function integer(value: unknown, min: number, max: number, fail: Fail): number {
  const read = readText(value);
  const isNumeral = read?.expanded === true && /^[+-]?\d{1,15}$/.test(read.text);
  if (typeof value !== 'bigint' && !isNumeral) return fail('must be an integer');
  const number = Number(read?.text ?? value);
  if (number >= min && number <= max) return number;
  return fail(`must be ${min} to ${max}`);
}

export function oneOf<T extends string>(value: unknown, values: readonly T[], fail: Fail): T {
  const text = readText(value)?.text;
  return values.find((known) => known === text) ?? fail(`must be one of ${values.join(', ')}`);
}
