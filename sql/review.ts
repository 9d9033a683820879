import type { ReviewPolicy, ReviewRule } from '../domain/policies.js';
import type { Accepted } from './verdict.js';

export interface ReviewFinding {
  code: ReviewRule;
  action: 'block' | 'warn';
  message: string;
  /** The top-level statement, counted from 0 (sql-safety.md section 8). */
  statementIndex: number;
}

export interface Review {
  /** By statement, then in the order of SQ-75. Rules that are off give none. */
  findings: ReviewFinding[];
  blocked: boolean;
  /** Blocked, and `allow_ddl` can lift every blocking rule (BG-2). */
  rulesBypassable: boolean;
  /** Blocked, and `allow_ddl` lifts it: every statement is eligible too (BG-3). */
  bypassable: boolean;
}

/** The findings of sql-safety.md section 8 for an accepted text under one policy's rules. Pure. */
export function review(verdict: Pick<Accepted, 'facts' | 'ddl'>, rules: ReviewPolicy['rules']): Review {
  const hits = verdict.facts.flatMap(({ hits }, statementIndex) => hits.map((code) => ({ code, statementIndex })));
  if (verdict.ddl && verdict.facts.some(({ changesRows }) => changesRows))
    hits.push({ code: 'mixed_ddl_dml', statementIndex: 0 });
  const findings = hits.flatMap(({ code, statementIndex }) => findingOf(code, statementIndex, rules));
  const blocking = findings.filter(({ action }) => action === 'block');
  const rulesBypassable = blocking.length > 0 && blocking.every(({ code }) => !firm.has(code));
  return {
    findings,
    blocked: blocking.length > 0,
    rulesBypassable,
    bypassable: rulesBypassable && verdict.facts.every(({ bypassable }) => bypassable),
  };
}

/** The finding for a rule that fires; empty where the rule is off. */
export function findingOf(code: ReviewRule, statementIndex: number, rules: ReviewPolicy['rules']): ReviewFinding[] {
  const action = rules[code];
  return action === 'off' ? [] : [{ code, action, message: messages[code], statementIndex }];
}

/** Whether blocks by the rule can never be lifted. */
export const isFirm = (code: ReviewRule): boolean => firm.has(code);

const firm: ReadonlySet<ReviewRule> = new Set<ReviewRule>([
  'no_where_delete',
  'no_where_update',
  'large_in_list',
  'mixed_ddl_dml',
]);

const messages: Readonly<Record<ReviewRule, string>> = {
  no_where_delete: 'DELETE without a WHERE that selects among its rows can remove every row',
  no_where_update: 'UPDATE without a WHERE that selects among its rows can change every row',
  drop_table: 'DROP TABLE removes the table and its rows',
  drop_column: 'DROP COLUMN removes the column and its values',
  drop_index: 'DROP INDEX can make queries slow',
  drop_view: 'DROP VIEW breaks what reads the view',
  drop_sequence: 'DROP SEQUENCE breaks what takes values from it',
  create_sequence: 'CREATE SEQUENCE adds a sequence',
  not_null_without_default: 'a NOT NULL column without a default cannot be added to a table with rows',
  create_index_not_concurrently: 'index is not built concurrently',
  alter_column_type: 'changing the type of a column can rewrite and lock the table',
  truncate: 'TRUNCATE removes every row',
  large_in_list: 'a list holds more than 100 elements',
  mixed_ddl_dml: 'schema changes and row changes are in one batch',
};
