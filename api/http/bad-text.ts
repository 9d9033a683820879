import { z } from 'zod';
import { invalid } from '../../domain/errors.js';
import { isBadText } from '../../lib/bad-text.js';
import { place } from './shape.js';

type Path = readonly (string | number)[];

// Valid UTF-8 holds no surrogates and JSON no bare control characters, so both can come only from escapes.
const badEscape = /\\u(0000|[dD][89a-fA-F])/;

/** Whether a JSON text can hold what `refuseBadText` refuses. Most texts cannot, and need no walk. */
export const mayHoldBadText = (json: string) => badEscape.test(json);

/** Refuses U+0000 and unpaired surrogates in all that `schema` reads of a body (HT-45). Members that it does not name are ignored (HT-48). */
export function refuseBadText(schema: z.ZodType, body: unknown): void {
  refuseWithin(schema, body, []);
}

function refuseWithin(schema: z.ZodType, value: unknown, path: Path): void {
  const reader = readerOf(schema);
  if (typeof value === 'string') {
    refuseText(value, path);
  } else if (Array.isArray(value)) {
    const element = reader instanceof z.ZodArray ? (reader.element as z.ZodType) : anything;
    for (const [index, item] of value.entries()) refuseWithin(element, item, [...path, index]);
  } else if (typeof value === 'object' && value !== null) {
    refuseInMembers(reader, value, path);
  }
}

function refuseInMembers(reader: z.ZodType, value: object, path: Path): void {
  const members = reader instanceof z.ZodObject ? (reader.shape as Record<string, z.ZodType>) : {};
  const takesOthers = !(reader instanceof z.ZodObject) || reader.def.catchall !== undefined;
  for (const [key, item] of Object.entries(value)) {
    const member = Object.hasOwn(members, key) ? members[key] : undefined;
    if (member === undefined && !takesOthers) continue;
    refuseText(key, path);
    refuseWithin(member ?? anything, item, [...path, key]);
  }
}

function refuseText(text: string, path: Path): void {
  if (isBadText(text)) throw invalid('text must not hold U+0000 or unpaired surrogates', place('body', path));
}

const anything = z.unknown();

/** The schema that sees the value first, without what makes it optional and what changes it afterwards. */
function readerOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return readerOf(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodPipe ? readerOf(schema.in as z.ZodType) : schema;
}
