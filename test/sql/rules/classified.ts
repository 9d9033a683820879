import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier, type Verdict } from '../../../sql/classify.js';

let sql: SqlClassifier;

/** One classifier of PostgreSQL texts for the tests of a file. */
export function useClassifier(): void {
  beforeAll(async () => {
    sql = await createSqlClassifier();
  });
  afterAll(() => sql.close());
}

export const classify = (text: string): Promise<Verdict> =>
  sql.classify(text, { dialect: 'postgresql', statementTimeoutSecs: 30 });

/** Class as the tables of sql-safety.md name it; what is refused by its reason. */
export async function said(text: string): Promise<string> {
  const verdict = await classify(text);
  if (verdict.verdict === 'empty') return 'empty';
  if (verdict.verdict === 'refused') return `${verdict.reason.split(':')[0]}${verdict.hint === 'use a migration' ? ' (M)' : ''}`;
  return [...new Set(verdict.statements.map((each) => each.class))].join(' ');
}

export const expectAll = (id: string, expected: string, texts: readonly string[]): void => {
  it.each(texts)(`${id}: %s is ${expected}`, async (text) => {
    expect(await said(text)).toBe(expected);
  });
};
