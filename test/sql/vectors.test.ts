import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../sql/classify.js';
import { mysqlVectors } from './mysql-vectors.js';
import { postgresqlVectors, unknownDialectVectors, type VectorRow } from './vectors.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

const cases = (rows: readonly VectorRow[]): [string, string, string][] =>
  rows.flatMap(({ id, expected, texts }) => texts.map((text): [string, string, string] => [id, text, expected]));

describe('vectors of docs/rules/sql-safety.md', () => {
  it.each(cases(postgresqlVectors))('%s on PostgreSQL: %j is %s', async (_id, text, expected) => {
    const verdict = await sql.classify(text, { dialect: 'postgresql', statementTimeoutSecs: 30 });
    expect(outcome(verdict)).toBe(expected);
    if (verdict.verdict === 'refused') expect(verdict.reason).not.toBe('');
  });

  it.each(cases(mysqlVectors))('%s on MySQL: %j is %s', async (_id, text, expected) => {
    const verdict = await sql.classify(text, { dialect: 'mysql', statementTimeoutSecs: 30 });
    expect(outcome(verdict)).toBe(expected);
    if (verdict.verdict === 'refused') expect(verdict.reason).not.toBe('');
  });

  it.each(cases(unknownDialectVectors))('%s on an unknown dialect: %j is %s (SQ-2)', async (_id, text, expected) => {
    expect(outcome(await sql.classify(text, { dialect: null, statementTimeoutSecs: 30 }))).toBe(expected);
  });

  it.each(cases(postgresqlVectors))('%s gives the same verdict twice: %j (SQ-I5)', async (_id, text) => {
    const options = { dialect: 'postgresql', statementTimeoutSecs: 30 } as const;
    expect(await sql.classify(text, options)).toEqual(await sql.classify(text, options));
  });
});

function outcome(verdict: Verdict): string {
  if (verdict.verdict !== 'accepted') return verdict.verdict;
  if (verdict.read) return 'read';
  return [verdict.write ? 'write' : '', verdict.ddl ? 'ddl' : ''].filter((word) => word !== '').join('+');
}
