import type { z } from 'zod';
import { invalid } from '../../domain/errors.js';
import { nearest } from '../../lib/nearest.js';

/** The first word of a place: it says which part held the value (HT-91). */
export type Part = 'params' | 'query' | 'body';

const partName = { params: 'path', query: 'query', body: 'body' } as const satisfies Record<Part, string>;

/** The first issue becomes 400 with its place (HT-91). A schema's own message follows the name: `must be …`. */
export function parsePart<S extends z.ZodType>(part: Part, schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value, { error: describe });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  if (issue === undefined) throw invalid('wrong form', partName[part]);
  if (issue.code === 'unrecognized_keys') {
    const key = clip(issue.keys[0] ?? '');
    throw invalid(`unknown key ${key}`, place(part, [...issue.path, key]));
  }
  const name = issue.path.findLast((step) => typeof step === 'string') ?? partName[part];
  throw invalid(`${name} ${issue.message}`, place(part, issue.path));
}

/** `body.share_with[2]`, `query.limit`, `path.id`, or only the part. */
export function place(part: Part, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${clip(String(step))}`),
    partName[part],
  );
}

const nouns: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

type Issue = Parameters<z.core.$ZodErrorMap>[0];

function describe(issue: Issue): string {
  if (issue.input === undefined && issue.code !== 'custom') return 'is required';
  if (issue.code === 'invalid_type') return `must be ${nouns[issue.expected] ?? issue.expected}`;
  if (issue.code === 'invalid_value') return oneOf(issue.values.map(String), issue.input);
  if (issue.code === 'too_big') return `must ${sizeVerb(issue.origin)} at most ${issue.maximum}${sizeUnit(issue.origin)}`;
  if (issue.code === 'too_small') return `must ${sizeVerb(issue.origin)} at least ${issue.minimum}${sizeUnit(issue.origin)}`;
  return 'has the wrong form';
}

/** `must be one of a, b`, and which of them a misspelt value is near to. */
function oneOf(values: readonly string[], given: unknown): string {
  const near = typeof given === 'string' ? nearest(given, values) : null;
  return `must be one of ${values.join(', ')}${near === null ? '' : `; did you mean ${near}?`}`;
}

const sizeVerb = (origin: string) => (origin === 'string' || origin === 'array' ? 'have' : 'be');
const sizeUnit = (origin: string) => (origin === 'string' ? ' characters' : origin === 'array' ? ' entries' : '');

/** Callers choose the keys: keep them short and on one line. */
export const clip = (key: string) => (key.length > 100 ? `${key.slice(0, 100)}…` : key);
