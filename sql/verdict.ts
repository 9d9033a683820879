import type { Dialect, JudgedStatement, StatementFacts } from '../domain/statement.js';
import type { ReservedNames } from './reserved-table.js';

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

export interface StatementVerdict {
  statement: JudgedStatement;
  facts: StatementFacts;
  destructive: boolean;
}
