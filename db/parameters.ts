/** Parameters of a statement that is put together from fixed pieces: `add` gives the `$n` that stands for a value. */
export interface Parameters {
  values: unknown[];
  add(value: unknown): string;
}

export function parameters(): Parameters {
  const values: unknown[] = [];
  return { values, add: (value) => `$${values.push(value)}` };
}
