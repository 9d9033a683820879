import { z } from 'zod';
import { invalid } from '../../domain/errors.js';
import { parseInstantText } from '../../domain/instant.js';
import { type Facts, text } from './fields.js';
import { parsePart, place } from './shape.js';

const maxInteger = 4_294_967_295;

const integerText = z
  .string()
  .regex(/^[0-9]+$/, 'must be an integer')
  .transform(Number)
  .refine((value) => value <= maxInteger, `must be at most ${maxInteger}`);

/** Decimal digits, 0 to 4294967295 (HT-63); 0 if absent. */
export const integerParam = (about: string) =>
  integerText.default(0).meta({ type: 'integer', minimum: 0, maximum: maxInteger, fallback: 0, description: about });

/** A place in the audit log, from 1. */
export const seqParam = (about: string) =>
  z
    .string()
    .regex(/^[1-9][0-9]{0,14}$/, 'must be an integer of at least 1')
    .transform(Number)
    .meta({ type: 'integer', minimum: 1, description: about })
    .optional();

/** A page size. Values above the maximum become the maximum; 0 is honoured (HT-80). */
export const limitParam = (fallback: number, maximum: number) =>
  integerText
    .transform((limit) => Math.min(limit, maximum))
    .default(fallback)
    .meta({
      type: 'integer',
      minimum: 0,
      fallback,
      description: `How many items at most. Values above ${maximum} are treated as ${maximum}.`,
    });

/** Skips items of the filtered set (HT-81). */
export const offsetParam = integerParam('How many items to skip.');

/** Exactly `true` or `false` (HT-63). */
export const booleanParam = (fallback: boolean, about: string) =>
  z
    .string()
    .regex(/^(true|false)$/, 'must be true or false')
    .transform((text) => text === 'true')
    .default(fallback)
    .meta({ type: 'boolean', fallback, description: about });

/** Any text; no filter if absent. Longer texts than the document says are taken, and name nothing. */
export const textParam = (about: string, facts: Facts) => text(about, facts).optional();

/** One of a closed list; no filter if absent. */
export const choiceParam = <const Choices extends readonly string[]>(choices: Choices, about: string) =>
  z.enum(choices).optional().meta({ description: about });

/** RFC 3339 with an offset (HT-74), as UTC text with six fraction digits, which is the precision of audit events. */
export const instantParam = (about: string) =>
  z
    .string()
    .transform((text, context) => {
      const instant = parseInstantText(text);
      if (instant === null) context.addIssue({ code: 'custom', message: 'must be an RFC 3339 time with an offset' });
      return instant ?? z.NEVER;
    })
    .meta({ type: 'string', format: 'date-time', description: about })
    .optional();

export function parseQuery(query: z.ZodType, search: string): unknown {
  return parsePart('query', query, parseQueryString(search, query instanceof z.ZodObject ? Object.keys(query.shape) : []));
}

/** Parses the known parameters. A repeated one is 400 (HT-62), unknown ones are ignored, U+0000 anywhere is 400 (HT-45). */
function parseQueryString(search: string, known: Iterable<string>): Record<string, string> {
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
