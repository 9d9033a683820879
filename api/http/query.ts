import { z } from 'zod';
import { invalid } from '../../domain/errors.js';
import { parseInstantText } from '../../domain/instant.js';
import { place } from './shape.js';

const maxInteger = 4_294_967_295;

const integerText = z
  .string()
  .regex(/^[0-9]+$/, 'must be an integer')
  .transform(Number)
  .refine((value) => value <= maxInteger, `must be at most ${maxInteger}`);

/** Decimal digits, 0 to 4294967295 (HT-63). */
export const integerParam = (fallback: number) =>
  integerText.default(fallback).meta({ type: 'integer', minimum: 0, default: fallback });

/** A page size. Values above the maximum become the maximum; 0 is honoured (HT-80). */
export const limitParam = (fallback: number, maximum: number) =>
  integerText
    .transform((limit) => Math.min(limit, maximum))
    .default(fallback)
    .meta({ type: 'integer', minimum: 0, maximum, default: fallback });

/** Skips items of the filtered set (HT-81). */
export const offsetParam = integerParam(0);

/** Exactly `true` or `false` (HT-63). */
export const booleanParam = (fallback: boolean) =>
  z
    .string()
    .regex(/^(true|false)$/, 'must be true or false')
    .transform((text) => text === 'true')
    .default(fallback)
    .meta({ type: 'boolean', default: fallback });

/** Any text; no filter if absent. */
export const textParam = z.string().optional();

/** RFC 3339 with an offset (HT-74), as UTC text with six fraction digits, which is the precision of audit events. */
export const instantParam = z
  .string()
  .transform((text, context) => {
    const instant = parseInstantText(text);
    if (instant === null) context.addIssue({ code: 'custom', message: 'must be an RFC 3339 time with an offset' });
    return instant ?? z.NEVER;
  })
  .meta({ type: 'string', format: 'date-time' })
  .optional();

/** Parses the known parameters. A repeated one is 400 (HT-62), unknown ones are ignored, U+0000 anywhere is 400 (HT-45). */
export function parseQueryString(search: string, known: Iterable<string>): Record<string, string> {
  const names = new Set(known);
  // No prototype, so `__proto__` is an ordinary unknown parameter.
  const values: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const pair of search.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = decode(equals < 0 ? '' : pair.slice(equals + 1));
    if (name?.includes('\0')) throw invalid('the query holds U+0000', 'query');
    if (value?.includes('\0')) throw invalid('the query holds U+0000', place('query', name === null ? [] : [name]));
    if (name === null || !names.has(name)) continue;
    if (value === null) throw invalid(`${name} has a bad percent escape`, `query.${name}`);
    if (name in values) throw invalid(`${name} is given twice`, `query.${name}`);
    values[name] = value;
  }
  return values;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
