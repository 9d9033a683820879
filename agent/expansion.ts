type Variables = Readonly<Record<string, string | undefined>>;

/**
 * A copy of the parsed file with `${NAME}`, `${NAME:-default}` and `$${` expanded inside its string values (AP-01).
 * `report` gets the dotted key and the reason of each value that cannot be expanded.
 */
export function expandValues(
  value: unknown,
  variables: Variables,
  report: (key: string, why: string) => void,
  key = '',
): unknown {
  if (typeof value === 'string') return expandText(value, variables, (why) => report(key, why));
  if (Array.isArray(value)) return value.map((item, index) => expandValues(item, variables, report, `${key}[${index}]`));
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  const entries = Object.entries(value).map(([name, member]) => {
    return [name, expandValues(member, variables, report, key === '' ? name : `${key}.${name}`)];
  });
  return Object.fromEntries(entries);
}

function expandText(text: string, variables: Variables, report: (why: string) => void): string {
  return text.replace(/\$\$\{|\$\{([^}]*)\}/g, (whole, inner: string | undefined) => {
    if (inner === undefined) return whole === '$${' ? '${' : whole;
    const parts = /^([A-Za-z_]\w*)(?::-([\s\S]*))?$/.exec(inner);
    const value = parts ? (variables[parts[1] as string] ?? parts[2]) : undefined;
    if (value === undefined) report(parts ? `environment variable ${parts[1]} is not set` : `malformed variable ${whole}`);
    return value ?? '';
  });
}
