import type { PostgresSession } from './session.js';

/** What the failure of a statement outside a transaction can leave in the database. */
export interface Unfinished {
  /** Invalid indexes by name. */
  indexes: readonly string[];
}

/** What is unfinished in the database now. */
export async function findUnfinished(session: PostgresSession): Promise<Unfinished> {
  const rows = await session.query('select indexrelid::pg_catalog.regclass::text from pg_catalog.pg_index where not indisvalid');
  return { indexes: rows.map(([index]) => index ?? '') };
}

/** What a failed statement left behind in words, which may be empty; null when its session cannot tell any more. */
export async function findLeftBehind(session: PostgresSession, before: Unfinished): Promise<string | null> {
  // A late cancel of the statement can hit the question instead.
  for (let attempt = 0; attempt < 3 && !session.lost; attempt++) {
    try {
      return wordsFor(before, await findUnfinished(session));
    } catch {
      // Ask again, unless the connection is gone.
    }
  }
  return null;
}

function wordsFor(before: Unfinished, after: Unfinished): string {
  const indexes = after.indexes.filter((index) => !before.indexes.includes(index));
  return indexes.length > 0 ? `; an invalid index was left behind: ${indexes.join(', ')}` : '';
}
