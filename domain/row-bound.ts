import type { SchemaSnapshot } from './snapshot.js';
import type { ClassifiedStatement, Dialect, StatementFacts } from './statement.js';

/**
 * Whether an agent can count the rows that a write changes and roll back when they are too many (HD-25). It cannot where a statement commits by
 * itself or changes a table without transactions. Nor can rows be counted when a table is truncated or dropped.
 */
export function canBeBounded(
  {
    statements,
    facts,
  }: {
    statements: readonly Pick<ClassifiedStatement, 'kind' | 'outsideTransaction'>[];
    facts: readonly Pick<StatementFacts, 'hits'>[];
  },
  dialect: Dialect | null,
  snapshot: SchemaSnapshot | null,
): boolean {
  if (facts.some(({ hits }) => hits.includes('truncate') || hits.includes('drop_table'))) return false;
  if (dialect !== 'mysql') return statements.every(({ outsideTransaction }) => !outsideTransaction);
  // DDL, CALL and similar statements commit by themselves there; a trigger may lead from any table to one without transactions.
  return (
    statements.every(({ kind }) => kind === 'dml' || kind === 'query' || kind === 'setting') &&
    !snapshot?.tables.some(({ transactional }) => transactional === false)
  );
}
