import { expandText, type Variables } from '../lib/expansion.js';
/**
 * Copies the parsed file with the variables in its string values expanded (AP-01). `report` gets the dotted key and the reason of
 * each value that cannot be expanded.
 */
export function expandValues(
  value: unknown,
  variables: Variables,
  report: (key: string, why: string) => void,
  key = '',
): unknown {
  if (typeof value === 'string') {
    const expanded = expandText(value, variables);
    if ('text' in expanded) return expanded.text;
    report(key, expanded.problem);
    return '';
  }
  if (Array.isArray(value)) return value.map((item, index) => expandValues(item, variables, report, `${key}[${index}]`));
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  const entries = Object.entries(value).map(([name, member]) => {
    return [name, expandValues(member, variables, report, key === '' ? name : `${key}.${name}`)];
  });
  return Object.fromEntries(entries);
}
