import { z } from 'zod';
import { isRecord } from '../lib/record.js';
import { readText } from './expansion.js';
import { authSection, featureSections } from './feature-schema.js';
import { dropUnknownKeys } from './known-keys.js';
import { listEntries } from './policy-schema.js';
import type { Path } from './positions.js';
import type { Findings } from './problems.js';
import { processSections, rootKeys } from './process-schema.js';
import { optionalSection, readPartly } from './table-rules.js';

const rootSection = z.strictObject(rootKeys);
const sections = { root: rootSection, ...processSections, ...featureSections, auth: authSection };

type Sections = { [K in keyof typeof sections]: z.output<(typeof sections)[K]> };
type Entries = { [K in keyof typeof listEntries]: Entry<z.output<(typeof listEntries)[K]>>[] };
export type ListPath = keyof Entries;

export interface Entry<T> {
  path: Path;
  value: T;
}

/**
 * What could be read of a file. A key with an error has a stand-in (null, a default, an empty text), and what is no table at all
 * is missing, so that everything else is still checked.
 */
export interface Draft {
  sections: Partial<Sections>;
  /** Sections with an error. Rules over several of their keys are not judged. */
  broken: ReadonlySet<keyof Sections>;
  lists: Entries;
  /** The `id` or `name` of every entry, readable or not: other entries may refer to it. */
  names: Record<ListPath, Set<string>>;
}

export interface CompleteDraft extends Draft {
  sections: Sections;
}

const { 'auth.roles': role, 'auth.groups': group, ...topLists } = listEntries;
const tables = { ...processSections, ...featureSections };

/** The whole file as one schema: what is known, and what the example must name. */
export const fileSchema = z.strictObject({
  ...rootKeys,
  ...mapValues(tables, (schema) => optionalSection(schema)),
  auth: z.strictObject({ ...authSection.shape, roles: z.array(role), groups: z.array(group) }),
  ...mapValues(topLists, (schema) => z.array(schema)),
});

/** Reads each section and each list entry on its own, so that every error is reported. */
export function readDraft(file: Record<string, unknown>, findings: Findings): Draft {
  const known = dropUnknownKeys(file, fileSchema, findings) as Record<string, unknown>;
  const { roles, groups, ...auth } = isRecord(known.auth) ? known.auth : {};
  const raw: Record<string, unknown> = {
    ...known,
    root: pick(known, Object.keys(rootKeys)),
    auth: isRecord(known.auth) ? auth : known.auth,
  };
  const read: Record<string, unknown> = {};
  const broken = new Set<string>();
  for (const [name, schema] of Object.entries(sections)) {
    const value = raw[name] === undefined ? {} : raw[name];
    const parsed = readValue(schema, value, name === 'root' ? [] : [name], findings);
    if (parsed.partial !== undefined) read[name] = parsed.partial;
    if (!parsed.isValid) broken.add(name);
  }
  const lists: Record<string, Entry<unknown>[]> = {};
  const names: Record<string, Set<string>> = {};
  for (const [name, schema] of Object.entries(listEntries)) {
    const value = name === 'auth.roles' ? roles : name === 'auth.groups' ? groups : known[name];
    lists[name] = readEntries(schema, value, name.split('.'), findings);
    names[name] = readNames(value, name.split('.'), findings);
  }
  // The loops cannot carry the type of each name. `sections` and `listEntries` are the tables that the types come from.
  return { sections: read, broken, lists, names } as unknown as Draft;
}

function readEntries(schema: z.ZodType, value: unknown, path: Path, findings: Findings): Entry<unknown>[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    findings.error({ path, message: 'must be a list of tables', hint: `write [[${path.join('.')}]]` });
    return [];
  }
  return value.flatMap((item, index) => {
    const { partial } = readValue(schema, item, [...path, index], findings);
    return partial === undefined ? [] : { path: [...path, index], value: partial };
  });
}

function readValue(schema: z.ZodType, value: unknown, path: Path, findings: Findings): { partial?: unknown; isValid: boolean } {
  const { issues, partial } = readPartly(schema, value);
  for (const issue of issues) {
    const at = issue.path.map((part) => (typeof part === 'symbol' ? '' : part));
    findings.error({ path: [...path, ...at], message: describe(issue) });
  }
  return { partial, isValid: issues.length === 0 };
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message;
  return issue.expected === 'object' ? 'must be a table' : 'must be a list';
}

/**
 * Reads names apart from their entries: an error elsewhere in an entry must neither hide a repeat nor make a reference to it
 * wrong.
 */
function readNames(value: unknown, path: Path, findings: Findings): Set<string> {
  const names = new Set<string>();
  for (const [index, entry] of Array.isArray(value) ? value.entries() : []) {
    const key = isRecord(entry) && 'id' in entry ? 'id' : 'name';
    const name = isRecord(entry) ? readText(entry[key])?.text : undefined;
    if (name === undefined || name === '') continue;
    if (names.has(name)) findings.error({ path: [...path, index, key], message: 'appears twice' });
    names.add(name);
  }
  return names;
}

const pick = (table: Record<string, unknown>, keys: string[]) =>
  Object.fromEntries(keys.filter((key) => Object.hasOwn(table, key)).map((key) => [key, table[key]]));

function mapValues<T extends Record<string, unknown>, R>(table: T, change: (value: T[keyof T]) => R): Record<keyof T, R> {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, change(value as T[keyof T])])) as Record<
    keyof T,
    R
  >;
}
