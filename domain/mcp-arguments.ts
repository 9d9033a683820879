import { isBadText } from '../lib/bad-text.js';

/** The part of JSON Schema that our tools use. */
export interface Schema {
  type?: string | readonly string[];
  description?: string;
  enum?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  default?: unknown;
}

/** `place` is the path of the argument in the message. */
export class BadArgument extends Error {
  readonly place: string;

  constructor(message: string, place: string) {
    super(message);
    this.place = place;
  }
}

/** The arguments of a tool with its defaults; unknown names are left out (MC-40). Throws BadArgument for the first bad value. */
export function readArguments(schema: Schema, given: Record<string, unknown>): Record<string, unknown> {
  for (const name of schema.required ?? [])
    if (!Object.hasOwn(given, name)) throw new BadArgument(`${name} is required`, `params.arguments.${name}`);
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, wanted]) => {
      if (!Object.hasOwn(given, name)) return wanted.default === undefined ? [] : [[name, wanted.default]];
      const problem = problemOf(wanted, given[name]);
      if (problem !== null) throw new BadArgument(`${name} ${problem}`, `params.arguments.${name}`);
      return [[name, given[name]]];
    }),
  );
}

function problemOf(
  { type, minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, ...limits }: Schema,
  value: unknown,
): string | null {
  if (type === 'boolean') return typeof value === 'boolean' ? null : 'must be true or false';
  if (type === 'integer') return integerProblem(value, limits);
  if (typeof value !== 'string') return 'must be a string';
  if (isBadText(value)) return 'must not hold U+0000 or unpaired surrogates';
  // Characters, as JSON Schema counts them.
  const length = value.length <= minLength || value.length > maxLength ? [...value].length : value.length;
  if (length < minLength) return 'must not be empty';
  if (length > maxLength) return `must have at most ${maxLength} characters`;
  return pattern !== undefined && !new RegExp(pattern, 'u').test(value) ? `must match ${pattern}` : null;
}

function integerProblem(value: unknown, { minimum, maximum }: Pick<Schema, 'minimum' | 'maximum'>): string | null {
  if (!Number.isSafeInteger(value)) return 'must be an integer';
  if (minimum !== undefined && (value as number) < minimum) return `must be at least ${minimum}`;
  return maximum !== undefined && (value as number) > maximum ? `must be at most ${maximum}` : null;
}
