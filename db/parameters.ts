/** Collects the values of a statement that is built from fixed pieces. `add` returns the `$n` of a value. */
export interface Parameters {
  values: unknown[];
  add(value: unknown): string;
}

export function parameters(): Parameters {
  const values: unknown[] = [];
  return { values, add: (value) => `$${values.push(value)}` };
}
