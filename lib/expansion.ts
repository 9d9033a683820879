/** The environment, or a stand-in for it. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Replaces `${NAME}` (an undefined one is a problem, an empty one is defined) and `${NAME:-default}`, and makes `$${` a literal
 * `${` (CF-3, AP-01, CL-04). The content of a variable is never expanded again. `isExpanded`: a variable or a default was used.
 */
export function expandText(source: string, variables: Variables): { text: string; isExpanded: boolean } | { problem: string } {
  if (source.includes('\0')) return { problem: 'contains a NUL character' };
  const parts = source.split(special);
  let isExpanded = false;
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 0) continue;
    const value = part === '$${' ? { text: '${' } : readReference(part, variables);
    if ('problem' in value) return value;
    parts[index] = value.text;
    isExpanded ||= part !== '$${';
  }
  return { text: parts.join(''), isExpanded };
}

export function variablesIn(source: string): string[] {
  return source.split(special).flatMap((part) => reference.exec(part)?.[1] ?? []);
}

/** Own members only: `constructor` is no variable. */
export function findVariable(name: string, variables: Variables): string | undefined {
  return Object.hasOwn(variables, name) ? variables[name] : undefined;
}

/** Everything that is not literal. Splitting by it leaves the literals at even places. */
const special = /(\$\$\{|\$\{[^}]*\}?)/;
const reference = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}$/;

/** `part` starts with `${` and ends at the next `}` or, unclosed, at the end of the value. */
function readReference(part: string, variables: Variables): { text: string } | { problem: string } {
  if (part.includes('${', 2)) return { problem: 'a default cannot contain ${' };
  if (!part.endsWith('}')) return { problem: 'unclosed ${' };
  const [, name, otherwise] = reference.exec(part) ?? [];
  if (name === undefined) return { problem: 'no variable name after ${ (write $${ for a literal ${)' };
  const text = findVariable(name, variables);
  if (text?.includes('\0')) return { problem: `environment variable ${name} contains a NUL character` };
  const value = text ?? otherwise;
  return value === undefined ? { problem: `environment variable ${name} is not set` } : { text: value };
}
