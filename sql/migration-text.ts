import { hasLoneSurrogate } from './judge-text.js';

/** One migration of a bundle, as far as its text is judged. */
export interface MigrationText {
  sql: string;
  /** False: it must hold exactly one statement, where the dialect cares (MI-16, MI-39). */
  transactional: boolean;
}

export interface MigrationStatement {
  /** The exact slice of the text. */
  text: string;
  /** INSERT, UPDATE, DELETE, REPLACE or SELECT, by its first word (MI-39). */
  rowsOnly: boolean;
  /** Code that may commit a part of its work and then fail: CALL and DO. */
  mayCommit: boolean;
}

/** The statements of each migration, or the first one that is refused and why. */
export type MigrationVerdict =
  | { ok: true; migrations: MigrationStatement[][] }
  | {
      ok: false;
      at: number;
      key: keyof MigrationText;
      reason: string /** Nothing was judged, because too many texts wait. */;
      busy?: true;
    };

/** Cuts one text into statements; a text stands for why it is refused. */
export type CutMigration = (sql: string) => MigrationStatement[] | string;

/** AP-22, MI-16: what a dialect's `cut` says of the texts of a bundle; pure but for the health of a parser. */
export function judgeMigrations(cut: CutMigration, texts: readonly MigrationText[], oneStatement: boolean): MigrationVerdict {
  const migrations: MigrationStatement[][] = [];
  for (const [at, { sql, transactional }] of texts.entries()) {
    const statements = refusedAnywhere(sql) ?? cut(sql);
    if (typeof statements === 'string') return { ok: false, at, key: 'sql', reason: statements };
    if (oneStatement && !transactional && statements.length !== 1)
      return {
        ok: false,
        at,
        key: 'transactional',
        reason: `a migration that is not transactional must hold exactly one statement, not ${statements.length}`,
      };
    migrations.push(statements);
  }
  return { ok: true, migrations };
}

function refusedAnywhere(sql: string): string | null {
  if (sql.includes('\0')) return 'the text holds the character U+0000';
  return hasLoneSurrogate(sql) ? 'half of a surrogate pair' : null;
}
