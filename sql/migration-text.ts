import { hasLoneSurrogate } from './classify-text.js';
import { addReviewed, noReview, type ReviewedMigration, type ReviewedStatement } from './collected-review.js';

/** The parts of a bundle's migration that are classified. */
export interface MigrationText {
  sql: string;
  /** If false, it must hold exactly one statement, in dialects where that matters (MI-16, MI-39). */
  transactional: boolean;
}

export interface MigrationStatement {
  /** The exact slice of the text. */
  text: string;
  /** INSERT, UPDATE, DELETE, REPLACE or SELECT, by its first word (MI-39). */
  rowsOnly: boolean;
  /** Code that may commit part of its work and then fail: CALL and DO. */
  mayCommit: boolean;
}

/** The first migration that is refused, and the reason. */
interface RefusedBundle {
  ok: false;
  at: number;
  key: keyof MigrationText;
  reason: string;
  /** Nothing was classified because too many texts are waiting. */
  busy?: true;
  /** Set if the text does not parse; otherwise it parses and is refused. */
  parseFailure?: true;
}

/** The statements of each migration, or the refusal. */
export type MigrationVerdict = { ok: true; migrations: MigrationStatement[][] } | RefusedBundle;
/** What the review rules need of each migration, or the refusal. */
export type ReviewedVerdict = { ok: true; reviewed: ReviewedMigration[] } | RefusedBundle;

/** Called for each statement when the review is asked for, with the line where it begins. */
export type NoteStatement = ((statement: ReviewedStatement, line: number) => void) | null;

/** Splits one text into statements. Returns a string if the text is refused, or `unparsed` with the reason if it does not parse. */
export type CutMigration = (sql: string, note: NoteStatement) => MigrationStatement[] | { unparsed: string } | string;

/** AP-22, MI-16: classifies the texts of a bundle with a dialect's `cut`. Pure, except for the health of a parser. */
export function classifyMigrations(
  cut: CutMigration,
  { texts, review }: { texts: readonly MigrationText[]; review: boolean },
  oneStatement: boolean,
): MigrationVerdict | ReviewedVerdict {
  const migrations: MigrationStatement[][] = [];
  const reviewed: ReviewedMigration[] = [];
  for (const [at, { sql, transactional }] of texts.entries()) {
    const seen = noReview();
    const note = review ? (statement: ReviewedStatement, line: number) => addReviewed(seen, statement, line) : null;
    const statements = refusedAnywhere(sql) ?? cut(sql, note);
    if (typeof statements === 'string') return { ok: false, at, key: 'sql', reason: statements };
    if ('unparsed' in statements) return { ok: false, at, key: 'sql', reason: statements.unparsed, parseFailure: true };
    if (oneStatement && !transactional && statements.length !== 1)
      return {
        ok: false,
        at,
        key: 'transactional',
        reason: `a migration that is not transactional must hold exactly one statement, not ${statements.length}`,
      };
    if (review) reviewed.push(seen);
    else migrations.push(statements);
  }
  return review ? { ok: true, reviewed } : { ok: true, migrations };
}

function refusedAnywhere(sql: string): string | null {
  if (sql.includes('\0')) return 'the text holds the character U+0000';
  return hasLoneSurrogate(sql) ? 'half of a surrogate pair' : null;
}

/** The lines of rising offsets in a text or its bytes. Each part is looked at once: a migration may hold tens of thousands of statements. */
export function lineCounter(text: { indexOf(part: string, from: number): number }): (offset: number) => number {
  let line = 1;
  let next = text.indexOf('\n', 0);
  return (offset) => {
    while (next !== -1 && next < offset) {
      line += 1;
      next = text.indexOf('\n', next + 1);
    }
    return line;
  };
}
