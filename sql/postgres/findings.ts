import { isListedCall, isListedTable } from '../listed-calls.js';
import { listOf, nodeOf, type Tree, textOf } from '../tree.js';
import { calledFields, type Fields, noFields, noteFields } from './field-calls.js';

/** What occurs anywhere in a statement's tree (SQ-40, SQ-41). */
export interface Findings {
  /** INSERT, UPDATE, DELETE or MERGE, the statement itself included. */
  changesRows: boolean;
  locksRows: boolean;
  listedCall: boolean;
  intoTable: boolean;
  /** `$1`, which nobody gives a value. */
  parameter: boolean;
  /** A statement node that does not belong inside another statement. */
  stranger: string | null;
}

interface Notes extends Findings {
  fields: Fields;
}

/** Visits every node, whatever field holds it and whether or not it is tagged (SQ-5). */
export function findIn(tag: string, body: Tree): Findings {
  const found: Notes = {
    changesRows: false,
    locksRows: false,
    listedCall: false,
    intoTable: false,
    parameter: false,
    stranger: null,
    fields: noFields(),
  };
  note(found, tag, body);
  found.stranger = null;
  const open: Tree[] = [body];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const element of value) open.push(element);
      continue;
    }
    for (const [field, child] of Object.entries(value)) {
      note(found, field, child);
      open.push(child);
    }
  }
  const { fields, ...findings } = found;
  return { ...findings, listedCall: found.listedCall || calledFields(fields).some(isListedCall) };
}

/**
 * The server reads a field of a value as a call of the function of that name: `(1.5::float8).pg_sleep` sleeps (SQ-42). What stands after a name is
 * told by `calledFields`.
 */
function note(found: Notes, field: string, child: Tree): void {
  if (rowChanges.has(field)) found.changesRows = true;
  else if (field === 'LockingClause') found.locksRows = true;
  else if (field === 'intoClause') found.intoTable = true;
  else if (field === 'ParamRef') found.parameter = true;
  else if (field === 'relname') found.listedCall ||= isListedTable(textOf(child));
  else if (field === 'funcname') found.listedCall ||= isListedName(listOf(child).at(-1));
  else if (field === 'A_Indirection') found.listedCall ||= listOf(nodeOf(child).indirection).some(isListedName);
  else if (field === 'ColumnRef' || field === 'RangeFunction') noteFields(found.fields, field, nodeOf(child));
  else if (statementTag.test(field) && !parts.has(field)) found.stranger ??= field;
}

function isListedName(part: Tree | undefined): boolean {
  return isListedCall(textOf(nodeOf(nodeOf(part).String).sval));
}

const rowChanges = new Set(['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt']);
/** A query may stand anywhere. REPLICA IDENTITY is a part of ALTER TABLE despite its tag. */
const parts = new Set(['SelectStmt', 'ReplicaIdentityStmt']);
/** Tags begin with a capital letter, fields do not. */
const statementTag = /^[A-Z].*Stmt$/;
