import type { StatementFacts, Uses } from '../../domain/statement.js';
import { completeFacts, maxListElements, noFacts } from '../facts.js';
import type { Form } from '../form.js';
import { stringsOf } from '../reserved-table.js';
import { listOf, nodeOf, type Tree, type TreeNode, textOf } from '../tree.js';
import { usesWithEffects } from '../uses.js';
import { addDefinition } from './ddl-facts.js';
import type { Findings } from './findings.js';
import { usesOf } from './uses.js';
import { tableOf, walk } from './walk-names.js';
import { queriesIn, toldBy, unrestrictedBy } from './writes.js';

/** The facts of one PostgreSQL statement, after any EXPLAIN; rules look at what would run (sql-safety.md section 8). */
export function factsOf(tag: string, body: TreeNode, form: Form, found: Findings): StatementFacts {
  const facts = noFacts();
  if (form.class === 'setting' || form.kind === 'show') return facts;
  facts.listedCall = found.listedCall;
  facts.uses = usesOf(tag, body);
  facts.unlisted = usesWithEffects('postgresql', form.inside === 'defined' ? withoutTypes(tag, facts.uses) : facts.uses);
  facts.writesUnknown = found.listedCall && form.inside !== 'defined';
  const queries = once(() => queriesIn(tag, body));
  walk(tag, body, (field, node, hides) => {
    const table = tableOf(node);
    if (table !== null && (table.schema !== null || !hides(table.name))) facts.named.push(table);
    if (form.inside === 'runs') addWork(facts, field, node, queries);
  });
  if (form.inside !== 'planned') addDefinition(facts, tag, body);
  return completeFacts(facts, () => stringsOf(body));
}

/** Drops the types of a definition: a new table has no rows to check, and `serial` is not a type. */
function withoutTypes(tag: string, uses: Uses): Uses {
  const isAltered = tag === 'AlterTableStmt';
  return { ...uses, types: uses.types.filter(({ name }) => isAltered && !/^((big|small)?serial|serial[248])$/.test(name)) };
}

/** Adds what a node does when it runs. */
function addWork(facts: StatementFacts, field: string, node: TreeNode, queries: () => ReadonlyMap<string, TreeNode>): void {
  if (rowChanges.has(field)) {
    facts.changesRows = true;
    const table = tableOf(node.relation);
    if (table !== null) facts.changed.push(table);
    if (table !== null && mayDelete(field, node)) facts.deletedFrom.push(table);
    facts.hits.push(...unrestrictedBy(field, node, queries()));
    const told = table === null ? null : toldBy(field, node, table);
    facts.insertedInto.push(...(told?.insertedInto ?? []));
    facts.fixed.push(...(told?.fixed ?? []));
  } else if (field === 'A_Expr' && elementsOf(node) > maxListElements) facts.hits.push('large_in_list');
  else if (field === 'intoClause') {
    const table = tableOf(node.rel);
    if (table !== null) facts.created.push(table);
  }
}

function mayDelete(field: string, node: TreeNode): boolean {
  const clauses = listOf(node.mergeWhenClauses).map((clause) => nodeOf(nodeOf(clause).MergeWhenClause));
  return field === 'DeleteStmt' || clauses.some(({ commandType }) => commandType === 'CMD_DELETE');
}

/** The number of elements of an IN list, or of an array literal after ANY or ALL; 0 for all else. */
function elementsOf({ kind, rexpr }: TreeNode): number {
  if (kind === 'AEXPR_IN') return listOf(nodeOf(nodeOf(rexpr).List).items).length;
  return kind === 'AEXPR_OP_ANY' || kind === 'AEXPR_OP_ALL' ? elementsOfArray(rexpr) : 0;
}

function elementsOfArray(value: Tree | undefined): number {
  let node = nodeOf(value);
  while (node.TypeCast !== undefined) node = nodeOf(nodeOf(node.TypeCast).arg);
  if (node.A_ArrayExpr !== undefined) return listOf(nodeOf(node.A_ArrayExpr).elements).length;
  const text = textOf(nodeOf(nodeOf(node.A_Const).sval).sval).trim();
  return text.startsWith('{') ? text.split(',').length : 0;
}

const rowChanges = new Set(['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt']);

function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
