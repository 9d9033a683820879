import type { Path, Positions } from './positions.js';
import type { ConfigProblem } from './types.js';

/** How many errors of one file are told (CF-5). */
const MAX_ERRORS = 50;

export interface Finding {
  path: Path;
  message: string;
  /** A function is called only for findings that are told. */
  hint?: string | (() => string | null) | null;
  /** `key` points at the name, for keys that should not be there; without it the place is that of the value. */
  at?: 'key' | 'value';
}

/** Collects what is wrong with one file. A second error for one path is dropped, because the first explains it. */
export interface Findings {
  error(finding: Finding): void;
  warning(finding: Finding): void;
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
}

export function createFindings(): Findings {
  const errors: Finding[] = [];
  const warnings: Finding[] = [];
  const seen = new Set<string>();
  const error = (finding: Finding) => {
    const id = JSON.stringify(finding.path);
    if (!seen.has(id)) errors.push(finding);
    seen.add(id);
  };
  return { error, warning: (finding) => warnings.push(finding), errors, warnings };
}

/** The findings with their places, in file order (CF-60). `raw` is the parsed file, which holds the ids of entries. */
export function toProblems(findings: readonly Finding[], file: string, positions: Positions, raw: unknown): ConfigProblem[] {
  const placed = findings.map((finding) => ({ finding, position: positions[finding.at ?? 'value'](finding.path) }));
  placed.sort(({ position: a }, { position: b }) => a.line - b.line || a.column - b.column);
  return placed.slice(0, MAX_ERRORS).map(({ finding: { path, message, hint = null }, position }) => ({
    file,
    ...position,
    key: formatKey(path, raw),
    message,
    hint: typeof hint === 'function' ? hint() : hint,
  }));
}

/** `<file>:<line>:<column>: <key path>: <what is wrong> (<hint>)` */
export function formatProblem({ file, line, column, key, message, hint }: ConfigProblem): string {
  const text = [`${file}:${line}:${column}`, key, message].filter((part) => part !== '').join(': ');
  return hint === null ? text : `${text} (${hint})`;
}

function formatKey(path: Path, raw: unknown): string {
  let text = '';
  let value = raw;
  for (const part of path) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined;
    if (typeof part === 'number') text += `[${part}]${entryId(value)}`;
    else text += (text === '' ? '' : '.') + (/^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part));
  }
  return text;
}

/** The id or name of an entry as the file spells it. Variables stay unexpanded, so that no secret shows. */
function entryId(entry: unknown): string {
  if (typeof entry !== 'object' || entry === null) return '';
  const { id, name } = entry as Record<string, unknown>;
  const label = id ?? name;
  return typeof label === 'string' && label.length <= 256 ? ` ${JSON.stringify(label)}` : '';
}
