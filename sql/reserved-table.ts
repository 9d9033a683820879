import { nodeOf, type Tree, textOf } from './tree.js';

/** The table in which agents record what they have done, and the schema or database it lies in unless `agent.toml` says otherwise (HD-40). */
export const MARKER_TABLE = 'svc_execution_marker';
export const MARKER_SCHEMA = 'svc';

/** Known to an agent only: the server does not see `agent.toml`. */
export interface ReservedNames {
  markerTable?: string;
  markerSchema?: string;
}

/**
 * The marker table, if one of the strings names it: as a name or part of one (its key, its index), or inside text that may be run or cast to a name.
 * Servers fold more letters than ASCII, so accented and other forms of a letter count as the letter.
 */
export function reservedIn(strings: Iterable<string>, { markerTable = MARKER_TABLE }: ReservedNames): string | null {
  const names = [...new Set([MARKER_TABLE, markerTable])].map((name) => [name, folded(name)] as const);
  for (const text of strings) {
    if (text.length < 1) continue;
    const seen = folded(text);
    for (const [name, wanted] of names) if (seen.includes(wanted)) return name;
  }
  return null;
}

export const isMarkerSchema = (name: string, { markerSchema = MARKER_SCHEMA }: ReservedNames): boolean =>
  folded(name) === folded(markerSchema);

/** A name as a server may fold it that folds most. */
export const folded = (text: string): string =>
  ascii.test(text) ? text.toLowerCase() : text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
const ascii = /^[\x00-\x7f]*$/;

/** Every string of a PostgreSQL tree: names and literals, with quotes and escapes resolved by the parser. */
export function* stringsOf(tree: Tree): Generator<string> {
  const open: Tree[] = [tree];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') yield next;
    else if (typeof next === 'object' && next !== null) open.push(...Object.values(next));
  }
}

/** The markers' schema, if a statement drops it, renames it, or transfers everything in it. Only migrations may change schemas at all. */
export function reservedSchemaIn(tag: string, body: Tree, names: ReservedNames): string | null {
  const { removeType, renameType, objectType, objtype, targtype } = nodeOf(body);
  const object = { DropStmt: removeType, RenameStmt: renameType, AlterOwnerStmt: objectType, GrantStmt: objtype }[tag];
  const isWhole = textOf(object) === 'OBJECT_SCHEMA' || textOf(targtype) === 'ACL_TARGET_ALL_IN_SCHEMA';
  if (!isWhole) return null;
  for (const text of stringsOf(body)) if (isMarkerSchema(text, names)) return `schema ${text}`;
  return null;
}
