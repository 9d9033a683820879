import type { z } from 'zod';
import type { KeyAbout } from './leaf.js';
import type { Path } from './positions.js';
import type { Findings } from './problems.js';

/** A copy without unknown keys. Each is reported, with the nearest known name as hint (CF-4). */
export function dropUnknownKeys(value: unknown, schema: unknown, findings: Findings, path: Path = []): unknown {
  const inner = unwrap(schema);
  if (inner.def.type === 'array' && Array.isArray(value))
    return value.map((item, index) => dropUnknownKeys(item, inner.def.element, findings, [...path, index]));
  if (inner.def.type !== 'object' || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const shape = inner.def.shape ?? {};
  const kept: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    if (Object.hasOwn(shape, key)) kept.push([key, dropUnknownKeys(item, shape[key], findings, [...path, key])]);
    else
      findings.error({
        path: [...path, key],
        message: 'unknown key',
        hint: () => `did you mean ${nearest(key, Object.keys(shape))}?`,
        at: 'key',
      });
  }
  return Object.fromEntries(kept);
}

export interface KnownKey {
  /** Dotted, `workflows[].steps[].mode`. */
  path: string;
  about: KeyAbout;
}

export function listKeys(schema: unknown, prefix = ''): KnownKey[] {
  const inner = unwrap(schema);
  if (inner.def.type === 'array') return listKeys(inner.def.element, `${prefix}[]`);
  if (inner.def.type === 'object')
    return Object.entries(inner.def.shape ?? {}).flatMap(([key, child]) =>
      listKeys(child, prefix === '' ? key : `${prefix}.${key}`),
    );
  const { about } = inner.meta() as { about: KeyAbout };
  return [{ path: prefix, about }];
}

/** The candidate with the fewest edits; of several, the first. */
export function nearest(text: string, candidates: readonly string[]): string {
  const ranked = candidates.map((candidate) => ({ candidate, edits: distance(text.slice(0, 64), candidate) }));
  return ranked.reduce((best, next) => (next.edits < best.edits ? next : best), {
    candidate: '',
    edits: Number.POSITIVE_INFINITY,
  }).candidate;
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

interface SchemaNode {
  meta(): unknown;
  def: { type: z.core.$ZodTypeDef['type']; innerType?: unknown; element?: unknown; shape?: Record<string, unknown> };
}

/** Looks through defaults and other wrappers at the table, list or leaf below. */
function unwrap(schema: unknown): SchemaNode {
  const node = schema as SchemaNode;
  return node.def.innerType === undefined ? node : unwrap(node.def.innerType);
}
