import { isListedCall } from './listed-calls.js';
import { listOf, nodeOf, type Tree, textOf } from './tree.js';

/** What stands anywhere in a statement's tree (SQ-40, SQ-41). */
export interface Findings {
  /** INSERT, UPDATE, DELETE or MERGE, the statement itself included. */
  changesRows: boolean;
  locksRows: boolean;
  listedCall: boolean;
  intoTable: boolean;
  /** A statement node that does not belong inside another statement. */
  stranger: string | null;
}

/** Visits every node, whatever the field it hangs in and whether or not it is tagged (SQ-5). */
export function findIn(tag: string, body: Tree): Findings {
  const found: Findings = { changesRows: false, locksRows: false, listedCall: false, intoTable: false, stranger: null };
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
  return found;
}

function note(found: Findings, field: string, child: Tree): void {
  if (rowChanges.has(field)) found.changesRows = true;
  else if (field === 'LockingClause') found.locksRows = true;
  else if (field === 'intoClause') found.intoTable = true;
  else if (field === 'funcname') found.listedCall ||= isListedCall(lastName(child));
  else if (statementTag.test(field) && !parts.has(field)) found.stranger ??= field;
}

function lastName(parts: Tree): string {
  return textOf(nodeOf(nodeOf(listOf(parts).at(-1)).String).sval);
}

const rowChanges = new Set(['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt']);
/** A query stands anywhere; REPLICA IDENTITY is a part of ALTER TABLE in spite of its tag. */
const parts = new Set(['SelectStmt', 'ReplicaIdentityStmt']);
/** Tags begin with a capital letter, fields do not. */
const statementTag = /^[A-Z].*Stmt$/;
