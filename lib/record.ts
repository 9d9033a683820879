export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every object in a JSON value, however deep. */
export function* recordsIn(value: unknown): Generator<Record<string, unknown>> {
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (Array.isArray(next)) for (const item of next) open.push(item);
    else if (isRecord(next)) {
      yield next;
      for (const member of Object.values(next)) open.push(member);
    }
  }
}
