import { z } from 'zod';

export type Json = Record<string, unknown>;
type Io = 'input' | 'output';

/** JSON schemas of zod's. Each that has a name stands once under `components.schemas`, and is pointed at. */
export interface NamedSchemas {
  components: Record<string, Json>;
  /** Answers come first: what a call takes is named `…Input` where an answer of that name is different. */
  refer(schema: z.ZodType, io: Io): Json;
}

export function namedSchemas(): NamedSchemas {
  const components: Record<string, Json> = {};
  return {
    components,
    refer(schema, io) {
      const { $schema: _, $defs, ...root } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
      const found = Object.entries($defs ?? {}).map(([name, one]) => [name, plainer(one) as Json] as const);
      const nameOf = io === 'input' ? renaming(found, components) : (name: string) => name;
      for (const [name, one] of found) add(components, nameOf(name), pointed(one, nameOf));
      return pointed(plainer(root) as Json, nameOf);
    },
  };
}

function add(components: Record<string, Json>, name: string, schema: Json): void {
  if (components[name] !== undefined && !isSame(components[name], schema)) throw new Error(`two schemas are named ${name}`);
  components[name] = schema;
}

/** Whatever points at a renamed schema is a different one too. */
function renaming(found: readonly (readonly [string, Json])[], components: Record<string, Json>) {
  const renamed = new Set<string>();
  const nameOf = (name: string) => (renamed.has(name) ? `${name}Input` : name);
  const isTaken = ([name, one]: readonly [string, Json]) =>
    components[name] !== undefined && !renamed.has(name) && !isSame(components[name], pointed(one, nameOf));
  for (let taken = found.filter(isTaken); taken.length > 0; taken = found.filter(isTaken))
    for (const [name] of taken) renamed.add(name);
  return nameOf;
}

const isSame = (one: Json, other: Json) => JSON.stringify(one) === JSON.stringify(other);

/** Rewrites references to point into the document. */
const pointed = (schema: Json, nameOf: (name: string) => string): Json =>
  JSON.parse(
    JSON.stringify(schema).replace(
      /"\$ref":"#\/\$defs\/(\w+)"/g,
      (_, name: string) => `"$ref":"#/components/schemas/${nameOf(name)}"`,
    ),
  ) as Json;

/** As readers of the document expect it. */
function plainer(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainer);
  if (typeof schema !== 'object' || schema === null) return schema;
  return nullable(ofValue(Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, plainer(value)]))));
}

/**
 * A query parameter of type number or boolean is described by its value, not its text. `fallback` becomes the default, because zod drops defaults of
 * transformed schemas.
 */
function ofValue({ fallback, ...schema }: Json): Json {
  const { pattern, ...rest } = schema;
  const described = schema.type === 'string' || pattern === undefined ? schema : rest;
  return fallback === undefined ? described : { ...described, default: fallback };
}

/** `T or null` as one schema of two types, so that its sentence stands where readers look for it. */
function nullable({ anyOf, ...rest }: Json): Json {
  if (!Array.isArray(anyOf)) return rest;
  const [one, other] = anyOf as Json[];
  if (anyOf.length !== 2 || typeof one?.type !== 'string' || other?.type !== 'null') return { anyOf, ...rest };
  const { const: only, ...plain } = one;
  const values = only === undefined ? one.enum : [only];
  return { ...plain, ...rest, type: [one.type, 'null'], ...(Array.isArray(values) && { enum: [...values, null] }) };
}
