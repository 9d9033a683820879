import type { ReviewRule } from '../../domain/policies.js';
import type { StatementFacts, TableName } from '../../domain/statement.js';
import { listOf, nodeOf, type Tree, type TreeNode, textOf } from '../tree.js';
import { addsQuietly, isSerial } from './added-column.js';
import { lastParts, tableOf } from './walk-names.js';

/** Adds what a top-level statement itself defines, alters or drops. */
export function addDefinition(facts: StatementFacts, tag: string, body: TreeNode): void {
  const add = Object.hasOwn(definitions, tag) ? definitions[tag] : undefined;
  add?.(facts, body);
}

const definitions: Readonly<Record<string, (facts: StatementFacts, body: TreeNode) => void>> = {
  CreateStmt: (facts, body) => {
    // A table that may already exist does not count as created by the text.
    if (body.if_not_exists !== true) facts.created.push(...tablesOf(body.relation));
    const parents = tablesOf(...listOf(body.inhRelations));
    facts.changed.push(...parents);
    // A partition or child takes part in the reads and writes of its parents.
    Object.assign(facts, { safeForm: parents.length === 0, bypassable: true });
  },
  CreateTableAsStmt: (facts, body) => {
    if (body.if_not_exists !== true) facts.created.push(...tablesOf(nodeOf(body.into).rel));
  },
  ViewStmt: (facts, body) => {
    Object.assign(facts, { safeForm: body.replace !== true, bypassable: true });
  },
  IndexStmt: (facts, body) => {
    const concurrent = body.concurrent === true;
    facts.changed.push(...tablesOf(body.relation));
    if (!concurrent) facts.hits.push('create_index_not_concurrently');
    Object.assign(facts, { safeForm: concurrent, bypassable: true });
  },
  AlterTableStmt: (facts, body) => {
    if (body.objtype !== 'OBJECT_TABLE' && body.objtype !== 'OBJECT_TYPE') return;
    const commands = listOf(body.cmds).map((command) => nodeOf(nodeOf(command).AlterTableCmd));
    facts.hits.push(...new Set(commands.flatMap(hitsOfPart)));
    if (body.objtype === 'OBJECT_TYPE') return;
    facts.changed.push(...tablesOf(body.relation));
    Object.assign(facts, { safeForm: commands.every(addsQuietly), bypassable: true });
  },
  RenameStmt: (facts, body) => alterOther(facts, body.relation, textOf(body.renameType)),
  AlterObjectSchemaStmt: (facts, body) => alterOther(facts, body.relation, textOf(body.objectType)),
  CommentStmt: (facts, { objtype, object }) => {
    const parts = listOf(nodeOf(nodeOf(object).List).items);
    if (objtype === 'OBJECT_TABLE') facts.changed.push(lastParts(parts));
    else if (objtype === 'OBJECT_COLUMN' || objtype === 'OBJECT_TABCONSTRAINT') facts.changed.push(lastParts(parts.slice(0, -1)));
  },
  ReindexStmt: (facts, body) => {
    if (body.kind === 'REINDEX_OBJECT_TABLE') facts.changed.push(...tablesOf(body.relation));
  },
  ClusterStmt: (facts, body) => facts.changed.push(...tablesOf(body.relation)),
  RefreshMatViewStmt: (facts, body) => facts.changed.push(...tablesOf(body.relation)),
  VacuumStmt: (facts, body) => {
    const relations = listOf(body.rels).map((each) => nodeOf(nodeOf(each).VacuumRelation).relation);
    facts.changed.push(...tablesOf(...relations));
    facts.writesUnknown ||= relations.length === 0;
  },
  CallStmt: (facts) => {
    facts.writesUnknown = true;
  },
  // As for pg_notify: what the listeners do is not known.
  NotifyStmt: (facts) => {
    facts.writesUnknown = true;
  },
  DropStmt: (facts, body) => {
    const object = textOf(body.removeType);
    const hit = Object.hasOwn(dropHits, object) ? dropHits[object] : undefined;
    if (hit !== undefined) facts.hits.push(hit);
    if (object === 'OBJECT_TABLE')
      facts.changed.push(...listOf(body.objects).map((each) => lastParts(listOf(nodeOf(nodeOf(each).List).items))));
    facts.bypassable = true;
  },
  TruncateStmt: (facts, body) => {
    const tables = tablesOf(...listOf(body.relations));
    facts.changed.push(...tables);
    if (body.behavior === 'DROP_CASCADE') facts.deletedFrom.push(...tables);
    facts.hits.push('truncate');
    facts.bypassable = true;
  },
  CreateSeqStmt: (facts) => {
    facts.hits.push('create_sequence');
    facts.bypassable = true;
  },
};

/** Renaming and moving. The object is a table or belongs to one, except for sequences. */
function alterOther(facts: StatementFacts, relation: Tree | undefined, object: string): void {
  if (object === 'OBJECT_SEQUENCE') return;
  facts.changed.push(...tablesOf(relation));
  facts.bypassable = true;
}

function hitsOfPart({ subtype, def }: TreeNode): ReviewRule[] {
  if (subtype === 'AT_DropColumn') return ['drop_column'];
  if (subtype === 'AT_AlterColumnType') return ['alter_column_type'];
  const isBare = subtype === 'AT_AddColumn' && needsValue(nodeOf(nodeOf(def).ColumnDef));
  return isBare ? ['not_null_without_default'] : [];
}

function needsValue(column: TreeNode): boolean {
  const constraints = listOf(column.constraints).map((each) => textOf(nodeOf(nodeOf(each).Constraint).contype));
  return constraints.includes('CONSTR_NOTNULL') && !isSerial(column) && !constraints.some((each) => filling.has(each));
}

const tablesOf = (...nodes: readonly (Tree | undefined)[]): TableName[] =>
  nodes.flatMap((node) => tableOf(nodeOf(node).RangeVar ?? node) ?? []);

const dropHits: Readonly<Record<string, ReviewRule>> = {
  OBJECT_TABLE: 'drop_table',
  OBJECT_VIEW: 'drop_view',
  OBJECT_MATVIEW: 'drop_view',
  OBJECT_INDEX: 'drop_index',
  OBJECT_SEQUENCE: 'drop_sequence',
};
const filling = new Set(['CONSTR_DEFAULT', 'CONSTR_IDENTITY', 'CONSTR_GENERATED']);
