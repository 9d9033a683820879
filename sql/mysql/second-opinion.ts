import type { StatementClass } from '../../domain/statement.js';
import { isListedCall } from '../listed-calls.js';
import { listOf, nodeOf, type Tree, taggedOf, textOf } from '../tree.js';
import type { Accepted } from '../verdict.js';

/**
 * What a second parser finds in a text beyond our verdict, or null: other statements, a stronger class, a destructive statement, or INTO (SQ-3). It
 * can only make a verdict stricter; where it finds less, ours stands.
 */
export function seesMore(verdict: Pick<Accepted, 'statements' | 'destructive'>, trees: readonly Tree[]): string | null {
  const { statements, destructive } = verdict;
  if (trees.length !== statements.length) return `${trees.length} statements, not ${statements.length}`;
  for (const [at, tree] of trees.entries()) {
    const kind = typeof tree === 'string' ? tree : taggedOf(tree).tag;
    const ours = statements[at]!.class;
    if (isStronger(kind, ours) || (removes.has(kind) && !destructive)) return `${kind} in statement ${at + 1}`;
    const effect = findEffect(tree, kind === 'Explain' && taggedOf(tree).body.analyze !== true);
    if (effect !== null && (effect === 'INTO' || ours === 'read')) return `${effect} in statement ${at + 1}`;
  }
  return null;
}

/** A kind without a row counts as stronger than everything (SQ-4). */
function isStronger(kind: string, ours: StatementClass): boolean {
  const theirs = Object.hasOwn(classes, kind) ? classes[kind] : undefined;
  if (theirs === 'setting' || ours === 'setting') return theirs !== ours;
  if (theirs === 'write') return !ours.startsWith('write');
  return theirs === 'ddl' ? !ours.endsWith('ddl') : theirs === undefined;
}

/** What a query does besides reading, at any depth. Under a plain EXPLAIN only listed calls count (SQ-43). INTO is checked first. */
function findEffect(root: Tree, planned: boolean): string | null {
  const left: Tree[] = [root];
  let found: string | null = null;
  for (let tree = left.pop(); tree !== undefined; tree = left.pop()) {
    for (const each of listOf(tree)) left.push(each);
    const node = nodeOf(tree);
    for (const [field, value] of Object.entries(node)) {
      const effect = effectOf(field, value, planned);
      if (effect === 'INTO') return effect;
      found ??= effect;
      if (typeof value === 'object' && value !== null) left.push(value);
    }
  }
  return found;
}

function effectOf(field: string, value: Tree | undefined, planned: boolean): string | null {
  const node = nodeOf(value);
  if (field === 'Function' || (field === 'Table' && node.args !== undefined && node.args !== null))
    return callsListed(node.name) ? 'a listed function' : null;
  if (planned) return null;
  if (field === 'Select' && node.into !== undefined && node.into !== null) return 'INTO';
  if (field === 'locks') return listOf(value).length > 0 ? 'a row lock' : null;
  if (field === 'op') return value === 'Assignment' ? ':=' : null;
  return writes.has(field) && Object.keys(node).length > 0 ? field : null;
}

/** As in our own check, a name outside ASCII counts as listed. */
function callsListed(name: Tree | undefined): boolean {
  const last = textOf(nodeOf(nodeOf(listOf(name).at(-1)).Identifier).value).trimEnd();
  return isListedCall(last) || /[^\x00-\x7f]/.test(last);
}

const writes = new Set(['Insert', 'Update', 'Delete', 'Merge']);
const removes = new Set(['Drop', 'Truncate']);
const classes: Readonly<Record<string, 'read' | 'setting' | 'write' | 'ddl'>> = {
  Query: 'read',
  Explain: 'read',
  ExplainTable: 'read',
  ShowCharset: 'read',
  ShowCollation: 'read',
  ShowColumns: 'read',
  ShowCreate: 'read',
  ShowDatabases: 'read',
  ShowFunctions: 'read',
  ShowSchemas: 'read',
  ShowStatus: 'read',
  ShowTables: 'read',
  ShowVariable: 'read',
  ShowVariables: 'read',
  ShowViews: 'read',
  Set: 'setting',
  Insert: 'write',
  Update: 'write',
  Delete: 'write',
  Merge: 'write',
  Call: 'write',
  Analyze: 'write',
  CreateTable: 'ddl',
  CreateView: 'ddl',
  CreateIndex: 'ddl',
  AlterTable: 'ddl',
  AlterView: 'ddl',
  RenameTable: 'ddl',
  OptimizeTable: 'ddl',
  Drop: 'ddl',
  Truncate: 'ddl',
};
