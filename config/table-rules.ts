import type { z } from 'zod';
import { type Tell, tellOf } from './leaf.js';

/** A section that may be left out; its keys then have their defaults. */
export const optionalSection = <T extends z.ZodObject>(schema: T) => schema.prefault({} as never);

/**
 * Adds a rule over several keys of a table, reported together with the errors of its other keys (CF-5). The rule is asked only if
 * the keys that it looks at (dotted paths) could be read.
 */
export function withRule<T extends z.ZodObject>(schema: T, keys: string[], rule: (table: z.output<T>, tell: Tell) => void): T {
  const looksAt = keys.map((key) => key.split('.'));
  const isBlocked = (path: readonly PropertyKey[]) =>
    looksAt.some((key) => path.length <= key.length && path.every((part, index) => part === key[index]));
  return schema.superRefine((table, context) => rule(table, tellOf(context)), {
    when: ({ issues }) => isShaped(issues) && !issues.some(({ path = [] }) => isBlocked(path)),
  });
}

/** What could be read of a table, with stand-ins for keys that have errors; undefined if tables or lists are missing in it. */
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

/** Issues of our own concern single keys; all others concern the shape of tables and lists. */
const isShaped = (issues: readonly { code?: string }[]) => issues.every(({ code }) => code === 'custom');
