import fc from 'fast-check';

/** The parts of a JSON schema that our document uses. */
export interface Schema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  maxItems?: number;
}

export interface Operation {
  method: string;
  path: string;
  forAgents: boolean;
  parameters: { name: string; in: 'path' | 'query' | 'header'; schema: Schema }[];
  body: Schema | null;
  /** Status → codes that may come with it, and the schema of a success that is JSON. */
  answers: Record<string, { codes: string[]; schema: Schema | null }>;
}

interface DocumentOperation {
  security?: Record<string, unknown>[];
  parameters?: Operation['parameters'];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}

interface Document {
  paths: Record<string, Record<string, DocumentOperation>>;
  components: { schemas: Record<string, Schema> };
}

/** Every operation of an OpenAPI document of ours. */
export function operationsOf(document: Document): Operation[] {
  const { paths } = withoutPointers(document, document.components.schemas) as Document;
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      forAgents: operation.security?.some((scheme) => 'agent' in scheme) ?? false,
      parameters: operation.parameters ?? [],
      body: operation.requestBody?.content['application/json']?.schema ?? null,
      answers: Object.fromEntries(
        Object.entries(operation.responses).map(([status, { description, content }]) => [
          status,
          {
            codes: [...description.matchAll(/`([^`]+)`/g)].map(([, code]) => code!),
            schema: content?.['application/json']?.schema ?? null,
          },
        ]),
      ),
    })),
  );
}

/** With each schema where it is pointed at; none points at itself. */
export function withoutPointers(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutPointers(one, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as { $ref?: string };
  const meant = $ref === undefined ? {} : (schemas[$ref.split('/').at(-1)!] as object);
  return Object.fromEntries(Object.entries({ ...meant, ...rest }).map(([key, one]) => [key, withoutPointers(one, schemas)]));
}

const texts = [
  '',
  '\0',
  '\ud800',
  '../..',
  '%2e%2e',
  "'; drop table users; --",
  '__proto__',
  '😀'.repeat(40),
  'null',
  '-1',
  '1e999',
  'select 1',
  'delete from t where id = 1; drop table t',
  'create index i on t (c)',
  'explain analyze delete from t',
  'user:alice',
  'group:dba-team',
  '2031-01-01T00:00:00.000Z',
  '2031-01-01',
  'a'.repeat(300),
];
const numbers = [0, 1, -1, 1.5, 50, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 63), 1e308];

/** Values a caller would send here, most of the time; `known` are texts that name something. */
export function valueLike(schema: Schema, known: readonly string[], depth = 0): fc.Arbitrary<unknown> {
  const odd = fc.oneof(fc.constantFrom<unknown>(null, true, [], {}, ...texts, ...numbers), fc.jsonValue({ maxDepth: 2 }));
  return fc.oneof({ weight: 12, arbitrary: fitting(schema, known, depth) }, { weight: 1, arbitrary: odd });
}

function fitting(schema: Schema, known: readonly string[], depth: number): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valueLike(choice, known, depth + 1)));
  const value = (inner: Schema | undefined) =>
    inner === undefined || depth > 6 ? fc.constant(null) : valueLike(inner, known, depth + 1);
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => fitting({ ...schema, type }, known, depth)));
  switch (schema.type) {
    case 'object':
      return objectOf(schema, value);
    case 'array':
      return fc.array(value(schema.items), { maxLength: Math.min(3, schema.maxItems ?? 3) });
    case 'integer':
    case 'number':
      return fc.oneof(
        fc.integer({ min: Math.max(0, schema.minimum ?? 0), max: Math.min(60, schema.maximum ?? 60) }),
        fc.constantFrom(...numbers),
      );
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.oneof(fc.constantFrom(...known), fc.constantFrom(...texts), fc.string({ unit: 'binary', maxLength: 20 }));
  }
}

function objectOf({ properties = {}, required = [] }: Schema, value: (schema: Schema) => fc.Arbitrary<unknown>) {
  const fields = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, fieldOf(name, schema, value)]));
  const names = Object.keys(fields);
  return fc.oneof(
    { weight: 6, arbitrary: fc.record(fields, { requiredKeys: required.filter((name) => names.includes(name)) }) },
    { weight: 1, arbitrary: fc.record(fields, { requiredKeys: [] }) },
  );
}

/** Waits are kept short: the fuzzer looks for answers, not for the length of a wait. */
function fieldOf(name: string, schema: Schema, value: (schema: Schema) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return isWait(name) ? fc.constantFrom<unknown>(0, 1, 20, -1, 'x') : value(schema);
}

export const isWait = (name: string) => ['wait', 'wait_ms', 'explain_timeout_ms'].includes(name);
