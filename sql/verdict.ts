import type { StatementFacts } from './facts.js';
import type { ReservedNames } from './reserved-table.js';

export type Dialect = 'postgresql' | 'mysql';
export type StatementClass = 'read' | 'write' | 'ddl' | 'write+ddl' | 'setting';
export type StatementKind = 'query' | 'show' | 'explain' | 'setting' | 'dml' | 'utility' | 'ddl';

export interface JudgedStatement {
  /** The exact slice of the judged text (SQ-6). */
  text: string;
  class: StatementClass;
  /** The verb of SQ-65; a setting counts as SELECT. */
  type: string;
  kind: StatementKind;
  /** A query, SHOW, EXPLAIN, or a writing statement with RETURNING. */
  producesRows: boolean;
  /** The main verb is INSERT, UPDATE, DELETE or MERGE (AP-36). */
  countsRows: boolean;
  /** Cannot run in a transaction (SQ-62). */
  outsideTransaction: boolean;
  /** Plain EXPLAIN is offered for it (AP-60). */
  explainable: boolean;
}

export interface Refused {
  verdict: 'refused';
  reason: string;
  hint: string | null;
  /** The text does not parse (SQ-11, PF-20); else it parses and is refused. */
  parseFailure?: true;
  /** Nothing was judged, because too many texts wait; the same text may pass later. */
  busy?: true;
}

export interface Accepted {
  verdict: 'accepted';
  operation: 'execute_select' | 'execute_dml';
  read: boolean;
  write: boolean;
  ddl: boolean;
  destructive: boolean;
  statementType: string;
  statements: JudgedStatement[];
  /** For review and risk, one for each statement. */
  facts: StatementFacts[];
}

export type Verdict = { verdict: 'empty' } | Refused | Accepted;

export interface JudgeOptions extends ReservedNames {
  /** Null when the dialect of the pair is not known (SQ-2). */
  dialect: Dialect | null;
  /** The effective statement timeout that a SET may not exceed (SQ-51); 0 = none. */
  statementTimeoutSecs: number;
}

export function refused(reason: string, hint: string | null = null): Refused {
  return { verdict: 'refused', reason, hint };
}

/** Refusal of a text whose meaning is not known (SQ-4). */
export function notUnderstood(why: string): Refused {
  return { ...refused(`not understood: ${why}`), parseFailure: true };
}
