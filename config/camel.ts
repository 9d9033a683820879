type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

export type CamelKeys<T> = T extends readonly (infer Item)[]
  ? CamelKeys<Item>[]
  : T extends object
    ? { [K in keyof T as Camel<K & string>]: CamelKeys<T[K]> }
    : T;

/** A copy with snake_case keys in camelCase, at every depth; for plain tables and lists only. */
export function camelKeys<T>(value: T): CamelKeys<T> {
  return convert(value) as CamelKeys<T>;
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [toCamel(key), convert(item)]));
}

export const toCamel = (key: string) => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
