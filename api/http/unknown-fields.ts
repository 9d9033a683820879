import type { z } from 'zod';
import { nearest } from '../../lib/nearest.js';
import { clip } from './shape.js';

const maxWarnings = 10;

/** Unknown fields change nothing (D20), so a misspelt one must be told: `unknown field resaon; did you mean reason?`. */
export function unknownFieldWarnings(keys: readonly string[], { shape }: z.ZodObject): string[] {
  const known = Object.keys(shape);
  const unknown = keys.filter((key) => !Object.hasOwn(shape, key));
  return unknown.slice(0, maxWarnings).map((key) => {
    const near = nearest(key, known);
    return `unknown field ${clip(key)}${near === null ? '' : `; did you mean ${near}?`}`;
  });
}

/** The member of an answer; left out where there is nothing to warn of. */
export const warned = (warnings: readonly string[]) => (warnings.length === 0 ? {} : { warnings });
