import { TomlDate } from 'smol-toml';
import { expandText, type Variables } from '../lib/expansion.js';
import { MAX_DEPTH, type Path } from './positions.js';

/**
 * Begins a string that holds an expanded variable: only such a string may become an integer or a boolean (CF-3). NUL cannot be
 * content, because values that contain it are refused.
 */
const EXPANDED = '\0';

/**
 * Stands for a value that no key takes: a date, or one whose expansion failed. The failure was reported, and a second error for
 * one path is dropped.
 */
const UNUSABLE = Symbol('unusable');

/** The text of a string value, and whether a variable was expanded in it; null for another kind of value. */
export function readText(value: unknown): { text: string; expanded: boolean } | null {
  if (typeof value !== 'string') return null;
  return value.startsWith(EXPANDED) ? { text: value.slice(1), expanded: true } : { text: value, expanded: false };
}

/**
 * A copy of the parsed file in which the variables in strings are expanded; the structure stays (CF-3). Reports values that fail,
 * and refuses too deep a nesting.
 */
export function expandTree(
  value: unknown,
  variables: Variables,
  report: (path: Path, message: string) => void,
  path: Path = [],
): unknown {
  if (typeof value === 'string') {
    const expanded = expandText(value, variables);
    if ('text' in expanded) return expanded.isExpanded ? EXPANDED + expanded.text : expanded.text;
    report(path, expanded.problem);
    return UNUSABLE;
  }
  if (path.length > MAX_DEPTH) {
    report(path, 'is nested too deeply');
    return UNUSABLE;
  }
  if (Array.isArray(value)) return value.map((item, index) => expandTree(item, variables, report, [...path, index]));
  if (value instanceof TomlDate) return UNUSABLE;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, expandTree(item, variables, report, [...path, key])]),
  );
}
