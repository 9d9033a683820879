/** What a migration's result reports as done: all steps, or those before the failure (MI-40). */
export interface Steps {
  key: 'applied' | 'reverted';
  count: number;
  /** Null where the result gives only the count, because the list exceeded its limit (AP-40). */
  versions: unknown[] | null;
}

/** The steps that a migration's result text names, or null if it names none. */
export function readSteps(resultText: string): Steps | null {
  const told = parse(resultText);
  for (const key of ['applied', 'reverted'] as const) {
    const versions = told[key] ?? told[`${key}_before_failure`];
    if (Array.isArray(versions)) return { key, count: versions.length, versions };
    const count = told[`${key}_count`] ?? told[`${key}_before_failure_count`];
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return { key, count, versions: null };
  }
  return null;
}

const maxListBytes = 4096;

/** The steps as audit events and notifications give them: the versions, or their number when the list is long (MI-44). */
export function toldSteps(steps: Steps | null): Record<string, unknown> {
  if (steps === null) return {};
  const { key, count, versions } = steps;
  const list = versions?.map((version) =>
    typeof version === 'string' && /^[\w.-]{1,255}$/.test(version) ? version : `<invalid:${lengthOf(version)}>`,
  );
  return list === undefined || JSON.stringify(list).length > maxListBytes ? { [`${key}_count`]: count } : { [key]: list };
}

/** An object may have a `toString` of its own. */
const lengthOf = (version: unknown) => (typeof version === 'string' ? version : JSON.stringify(version)).length;

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
