import { ddl, type Form } from '../form.js';
import { type Reason, refuseFor, refuseObject } from '../reasons.js';
import { listOf, nodeOf, type Tree, type TreeNode, taggedOf, textOf } from '../tree.js';
import type { Refused } from '../verdict.js';

/** EXPLAIN: with ANALYZE the form of its inner statement (SQ-21), else a read in which only listed calls count (SQ-43). */
export function explain(body: TreeNode, innerForm: (tag: string, inner: TreeNode) => Form | Refused): Form | Reason | Refused {
  const { tag, body: inner } = taggedOf(body.query);
  const form = innerForm(tag, inner);
  if ('verdict' in form) return form;
  if (hasOption(body.options, 'analyze')) return { ...form, kind: 'explain' };
  const named = plannable.has(tag) && inner.objtype !== 'OBJECT_MATVIEW';
  return named ? { class: 'read', kind: 'explain', type: 'SELECT', inside: 'planned' } : 'not understood';
}

/** VACUUM and ANALYZE are one node; FULL rewrites the table. */
export function vacuum(body: TreeNode): Form {
  const isVacuum = body.is_vacuumcmd === true;
  if (isVacuum && hasOption(body.options, 'full')) return { ...ddl('DDL'), outsideTransaction: true };
  return { class: 'write', kind: 'utility', type: 'DML', inside: 'runs', outsideTransaction: isVacuum };
}

/** CREATE TABLE AS and CREATE MATERIALIZED VIEW run their query, which may also be EXECUTE. */
export function createTableAs(body: TreeNode): Form | Reason {
  const { tag } = taggedOf(body.query);
  if (tag === 'ExecuteStmt') return 'session state';
  return tag === 'SelectStmt' ? { ...ddl('CREATE'), inside: 'runs' } : 'not understood';
}

/** Classifies ALTER TABLE and ALTER SEQUENCE by their parts. */
export function alterTable(body: TreeNode): Form | Reason | Refused {
  const commands = listOf(body.cmds).map((command) => nodeOf(nodeOf(command).AlterTableCmd));
  for (const { subtype } of commands) {
    if (privilegeParts.test(textOf(subtype))) return refuseFor('privileges', `ALTER TABLE with ${textOf(subtype).slice(3)}`);
  }
  const object = textOf(body.objtype);
  if (!alterable.has(object)) return refuseObject('ALTER', object);
  const unknown = commands.find(({ subtype }) => !alterParts.has(textOf(subtype)));
  if (unknown !== undefined || commands.length === 0) return 'not understood';
  return {
    ...ddl('ALTER'),
    outsideTransaction: commands.some(({ def }) => nodeOf(nodeOf(def).PartitionCmd).concurrent === true),
  };
}

/** ALTER … RENAME of a table, its columns and constraints, or of a sequence. */
export function rename(body: TreeNode): Form | Refused {
  const object = textOf(body.renameType);
  const owner = object === 'OBJECT_COLUMN' || object === 'OBJECT_TABCONSTRAINT' ? tableOf(object, body) : object;
  return alterable.has(owner) ? ddl('ALTER') : refuseObject('ALTER', owner);
}

export function setSchema(body: TreeNode): Form | Refused {
  const object = textOf(body.objectType);
  return alterable.has(object) ? ddl('ALTER') : refuseObject('ALTER', object);
}

export function reindex(body: TreeNode): Form | Reason {
  if (body.kind !== 'REINDEX_OBJECT_TABLE' && body.kind !== 'REINDEX_OBJECT_INDEX') return 'infrastructure';
  return { ...ddl('DDL'), outsideTransaction: hasOption(body.params, 'concurrently') };
}

export function clusterOf(body: TreeNode): Form | Reason {
  return body.relation === undefined ? 'infrastructure' : ddl('DDL');
}

export function drop(body: TreeNode): Form | Refused {
  const object = textOf(body.removeType);
  if (!droppable.has(object)) return refuseObject('DROP', object);
  return { ...ddl('DROP'), destructive: true, outsideTransaction: body.concurrent === true };
}

/** BEGIN, COMMIT and similar statements (SQ-29). */
export function transactionControl(body: TreeNode): Refused {
  return refuseFor('transaction control', textOf(body.kind).replace('TRANS_STMT_', '').replaceAll('_', ' '));
}

/** CREATE of an aggregate, operator, type, collation or text search object. */
export function define(body: TreeNode): Refused {
  return refuseObject('CREATE', textOf(body.kind));
}

/** Constraints are renamed on tables only; the relation of a column may also be a view or a type. */
const tableOf = (object: string, body: TreeNode): string =>
  object === 'OBJECT_COLUMN' ? textOf(body.relationType) : 'OBJECT_TABLE';

/** Whether the option is present with any value but `false`, `off` or `0`, even if a later option contradicts it (SQ-21). */
function hasOption(options: Tree | undefined, name: string): boolean {
  return listOf(options).some((option) => {
    const { defname, arg } = nodeOf(nodeOf(option).DefElem);
    return textOf(defname).toLowerCase() === name && !isOff(arg);
  });
}

function isOff(value: Tree | undefined): boolean {
  const { String: word, Integer: number } = nodeOf(value);
  if (number !== undefined) return (nodeOf(number).ival ?? 0) === 0;
  const sval = nodeOf(word).sval;
  return sval === 'false' || sval === 'off';
}

const plannable = new Set(['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt', 'CreateTableAsStmt']);
const alterable = new Set(['OBJECT_TABLE', 'OBJECT_SEQUENCE']);
const droppable = new Set(['OBJECT_TABLE', 'OBJECT_VIEW', 'OBJECT_MATVIEW', 'OBJECT_INDEX', 'OBJECT_SEQUENCE']);
const privilegeParts = /^AT_(ChangeOwner|.*RowSecurity|(Enable|Disable).*(Trig|Rule).*)$/;
const alterParts = new Set(
  `AddColumn ColumnDefault DropNotNull SetNotNull SetExpression DropExpression SetStatistics SetOptions ResetOptions SetStorage
  SetCompression DropColumn AddConstraint AlterConstraint ValidateConstraint DropConstraint AlterColumnType ClusterOn DropCluster
  SetLogged SetUnLogged DropOids SetAccessMethod SetTableSpace SetRelOptions ResetRelOptions AddInherit DropInherit AddOf DropOf
  ReplicaIdentity AttachPartition DetachPartition DetachPartitionFinalize AddIdentity SetIdentity DropIdentity`
    .split(/\s+/)
    .map((part) => `AT_${part}`),
);
