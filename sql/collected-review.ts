import type { ReviewRule } from '../domain/policies.js';
import type { StatementFacts } from '../domain/statement.js';

/** What the review rules need of one statement of a migration (HD-95). */
export interface ReviewedStatement extends Pick<StatementFacts, 'hits' | 'changesRows' | 'bypassable'> {
  ddl: boolean;
  understood: boolean;
}

/** The same for a whole migration. It may hold tens of thousands of statements, so only the first hits are sent; all are counted. */
export interface ReviewedMigration {
  statements: number;
  hits: { code: ReviewRule; statementIndex: number; line: number }[];
  counts: Partial<Record<ReviewRule, number>>;
  changesRows: boolean;
  ddl: boolean;
  /** `allow_ddl` may lift the blocks of every statement (BG-3). */
  bypassable: boolean;
  understood: boolean;
}

/** The number of hits of a migration that are reported one by one. */
export const maxHits = 1000;

export const noReview = (): ReviewedMigration => ({
  statements: 0,
  hits: [],
  counts: {},
  changesRows: false,
  ddl: false,
  bypassable: true,
  understood: true,
});

/** `line`: where the statement begins, counted from 1. */
export function addReviewed(migration: ReviewedMigration, statement: ReviewedStatement, line: number): void {
  for (const code of statement.hits) {
    migration.counts[code] = (migration.counts[code] ?? 0) + 1;
    if (migration.hits.length < maxHits) migration.hits.push({ code, statementIndex: migration.statements, line });
  }
  migration.statements += 1;
  migration.changesRows ||= statement.changesRows;
  migration.ddl ||= statement.ddl;
  migration.bypassable &&= statement.bypassable;
  migration.understood &&= statement.understood;
}
