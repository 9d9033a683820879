import { refuseFor } from '../reasons.js';
import type { Refused } from '../verdict.js';
import type { MysqlForm } from './form.js';
import { hasWords, type MysqlStatement, nameOf, upperAt } from './statement.js';

/** EXPLAIN, DESCRIBE and DESC: a read of a table's columns or a plan; with ANALYZE, the class of the query that runs (SQ-71). */
export function explain(statement: MysqlStatement, workAt: (at: number) => MysqlForm | Refused | null): MysqlForm | Refused {
  const analyzes = hasWords(statement, 1, 'ANALYZE');
  let at = analyzes ? 2 : 1;
  if (hasWords(statement, at, 'FORMAT', '=')) at += 3;
  else if (!analyzes && older.has(upperAt(statement, at)) && starts(statement, at + 1)) at += 1;
  const work = starts(statement, at) ? workAt(at) : null;
  if (work === null) {
    if (!analyzes && at === 1 && isTableName(statement)) return { ...planned, verbAt: 1 };
    return refuseFor('not understood', `${upperAt(statement, 0)} in this form`);
  }
  if ('verdict' in work) return work;
  if (!analyzes) return { ...planned, verbAt: work.verbAt };
  return work.kind === 'query'
    ? { ...work, kind: 'explain' }
    : refuseFor('not understood', 'EXPLAIN ANALYZE of a writing statement');
}

const planned = { class: 'read', kind: 'explain', type: 'SELECT', inside: 'planned' } as const;
const older = new Set(['EXTENDED', 'PARTITIONS']);
const beginnings = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE', '(', 'INSERT', 'REPLACE', 'UPDATE', 'DELETE']);
const starts = (statement: MysqlStatement, at: number): boolean => beginnings.has(upperAt(statement, at));

/** `DESCRIBE [schema.]table [column]`; the column may be a pattern in quotes. */
function isTableName({ tokens }: MysqlStatement): boolean {
  const shape = tokens.slice(1).map((token) => (nameOf(token) !== null ? 'n' : token.kind === 'string' ? 's' : token.text));
  return /^n(\.n)?[ns]?$/.test(shape.join(''));
}
