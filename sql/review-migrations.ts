import type { ReviewPolicy, ReviewRule } from '../domain/policies.js';
import { maxHits, type ReviewedMigration } from './collected-review.js';
import { findingOf, isFirm, type Review, type ReviewFinding } from './review.js';

/** A finding in a bundle. Its statement is counted within its migration. */
export interface MigrationFinding extends ReviewFinding {
  version: string;
  /** Where the statement begins in the text of its migration, counted from 1. */
  line: number;
}

export interface MigrationReview extends Review {
  /** The first findings, by migration. */
  findings: MigrationFinding[];
  /** The total number of findings. */
  found: number;
  /** A statement was not understood, so nothing is known of it. */
  parseFailed: boolean;
}

/** The findings of sql-safety.md section 8 for the statements of a bundle; each migration is a batch of its own (HD-95). Pure. */
export function reviewMigrations(
  versions: readonly string[],
  reviewed: readonly ReviewedMigration[],
  { rules, migrations = 'warn' }: Pick<ReviewPolicy, 'rules' | 'migrations'>,
): MigrationReview {
  const parseFailed = reviewed.some(({ understood }) => !understood);
  const none = { findings: [], found: 0, blocked: false, rulesBypassable: false, bypassable: false, parseFailed };
  if (migrations === 'off') return none;
  const effective: ReviewPolicy['rules'] = migrations === 'block' ? rules : warned(rules);
  const each = reviewed.map(withMixed);
  const findings = each.flatMap(({ hits }, index) =>
    hits.flatMap(({ code, statementIndex, line }) =>
      findingOf(code, statementIndex, effective).map((finding) => ({ ...finding, version: versions[index] ?? '', line })),
    ),
  );
  const counted = each.flatMap(({ counts }) => Object.entries(counts) as [ReviewRule, number][]);
  const found = counted.reduce((sum, [code, count]) => sum + (effective[code] === 'off' ? 0 : count), 0);
  const blocking = counted.filter(([code]) => effective[code] === 'block');
  const rulesBypassable = blocking.length > 0 && blocking.every(([code]) => !isFirm(code));
  return {
    findings: findings.slice(0, maxHits),
    found,
    parseFailed,
    blocked: blocking.length > 0,
    rulesBypassable,
    bypassable: rulesBypassable && reviewed.every(({ bypassable }) => bypassable),
  };
}

const warned = (rules: ReviewPolicy['rules']): ReviewPolicy['rules'] =>
  Object.fromEntries(
    Object.entries(rules).map(([code, action]) => [code, action === 'block' ? 'warn' : action]),
  ) as ReviewPolicy['rules'];

function withMixed(migration: ReviewedMigration): Pick<ReviewedMigration, 'hits' | 'counts'> {
  if (!migration.ddl || !migration.changesRows) return migration;
  return {
    hits: [...migration.hits, { code: 'mixed_ddl_dml', statementIndex: 0, line: 1 }],
    counts: { ...migration.counts, mixed_ddl_dml: 1 },
  };
}
