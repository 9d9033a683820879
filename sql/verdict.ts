import type { ClassifiedStatement, Dialect, StatementFacts } from '../domain/statement.js';
import type { ReservedNames } from './reserved-table.js';

export interface Refused {
  verdict: 'refused';
  reason: string;
  hint: string | null;
  /** Set if the text does not parse (SQ-11, PF-20); otherwise it parses and is refused. */
  parseFailure?: true;
  /** Nothing was classified because too many texts are waiting; the same text may pass later. */
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
  statements: ClassifiedStatement[];
  /** For review and risk, one per statement. */
  facts: StatementFacts[];
  /** The literal-free text of AU-51, if the options ask for it: from the same parse, so that a text is parsed once. */
  redacted?: string;
}

export type Verdict = { verdict: 'empty' } | Refused | Accepted;

export interface ClassifyOptions extends ReservedNames {
  /** Null when the pair's dialect is unknown (SQ-2). */
  dialect: Dialect | null;
  /** The effective statement timeout that a SET may not exceed (SQ-51); 0 = none. */
  statementTimeoutSecs: number;
  /** The verdict of an accepted text also carries it redacted. */
  redact?: boolean;
}

/** Stands for a text that cannot be redacted (AU-51). */
export const unparsable = '[unparsable SQL removed]';

export function refused(reason: string, hint: string | null = null): Refused {
  return { verdict: 'refused', reason, hint };
}

/** Refuses a text whose meaning is unknown (SQ-4). */
export function notUnderstood(why: string): Refused {
  // The parser's own words need no introduction.
  const hint = hints.find(([pattern]) => pattern.test(why))?.[1] ?? null;
  return { ...refused(/^syntax error\b/.test(why) ? why : `not understood: ${why}`, hint), parseFailure: true };
}

/** What people and programs often send that is not SQL. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/"\\{1,2}"$/, 'a command that begins with a backslash is for psql or mysql only: leave it out'],
  [/"\?"$/, 'write the value in place of the ?'],
  [/begins with DELIMITER$/, 'DELIMITER is for the mysql client only: leave it out'],
];

export interface StatementVerdict {
  statement: ClassifiedStatement;
  facts: StatementFacts;
  destructive: boolean;
}
