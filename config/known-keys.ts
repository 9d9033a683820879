import type { z } from 'zod';
import { nearest } from '../lib/nearest.js';
import { isRecord } from '../lib/record.js';
import type { KeyAbout } from './leaf.js';
import type { Path } from './positions.js';
import type { Findings } from './problems.js';

/** A copy without unknown keys. Each is reported, with a known name that is near as hint (CF-4). */
export function dropUnknownKeys(value: unknown, schema: unknown, findings: Findings, path: Path = []): unknown {
  const inner = unwrap(schema);
  if (inner.def.type === 'array' && Array.isArray(value))
    return value.map((item, index) => dropUnknownKeys(item, inner.def.element, findings, [...path, index]));
  if (inner.def.type !== 'object' || !isRecord(value)) return value;
  const shape = inner.def.shape ?? {};
  const kept: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    if (Object.hasOwn(shape, key)) kept.push([key, dropUnknownKeys(item, shape[key], findings, [...path, key])]);
    else
      findings.error({
        path: [...path, key],
        message: 'unknown key',
        hint: () => meant(key, Object.keys(shape)),
        at: 'key',
      });
  }
  return Object.fromEntries(kept);
}

function meant(key: string, known: readonly string[]): string | null {
  const near = nearest(key, known);
  return near === null ? null : `did you mean ${near}?`;
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

interface SchemaNode {
  meta(): unknown;
  def: { type: z.core.$ZodTypeDef['type']; innerType?: unknown; element?: unknown; shape?: Record<string, unknown> };
}

/** Looks through defaults and other wrappers at the table, list or leaf below. */
function unwrap(schema: unknown): SchemaNode {
  const node = schema as SchemaNode;
  return node.def.innerType === undefined ? node : unwrap(node.def.innerType);
}
