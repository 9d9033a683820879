import type { z } from 'zod';
import { refuseBadText } from './bad-text.js';
import { parsePart } from './shape.js';

/** Checks a body that was not JSON by the rules for JSON bodies (HT-44, HT-45). */
export function checkedBody<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  refuseBadText(schema, value);
  return parsePart('body', schema, value);
}
