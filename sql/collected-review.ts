import type { ReviewRule } from '../domain/policies.js';
import type { StatementFacts } from '../domain/statement.js';

/** What the review rules look at in one statement of a migration (HD-95). */
export interface ReviewedStatement extends Pick<StatementFacts, 'hits' | 'changesRows' | 'bypassable'> {
  /** Changes the schema. */
  ddl: boolean;
  understood: boolean;
}

/** The same of a whole migration: it may hold tens of thousands of statements, so that only the first hits travel, and all are counted. */
export interface ReviewedMigration {
  statements: number;
  hits: { code: ReviewRule; statementIndex: number }[];
  counts: Partial<Record<ReviewRule, number>>;
  changesRows: boolean;
  ddl: boolean;
  /** `allow_ddl` may lift blocks of every statement (BG-3). */
  bypassable: boolean;
  understood: boolean;
}

/** Hits of a migration that are told one by one. */
export const maxHits = 1000;

export const noReview = (): ReviewedMigration => ({
  ...{ statements: 0, hits: [], counts: {}, changesRows: false, ddl: false, bypassable: true, understood: true },
});

/** Adds the next statement. */
export function addReviewed(migration: ReviewedMigration, statement: ReviewedStatement): void {
  for (const code of statement.hits) {
    migration.counts[code] = (migration.counts[code] ?? 0) + 1;
    if (migration.hits.length < maxHits) migration.hits.push({ code, statementIndex: migration.statements });
  }
  migration.statements += 1;
  migration.changesRows ||= statement.changesRows;
  migration.ddl ||= statement.ddl;
  migration.bypassable &&= statement.bypassable;
  migration.understood &&= statement.understood;
}
