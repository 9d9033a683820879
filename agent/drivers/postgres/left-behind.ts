import type { Step } from './exchange.js';
import type { PostgresSession } from './session.js';

/** What the failure of a statement outside a transaction can leave in the database. */
export interface Unfinished {
  /** Invalid indexes by name. */
  indexes: readonly string[];
  /** The statements that end what DETACH PARTITION CONCURRENTLY has begun. */
  detaches: readonly string[];
}

/** What is unfinished in the database now. */
export async function findUnfinished(session: PostgresSession): Promise<Unfinished> {
  const [indexes = [], detaches = []] = (await session.exchange(steps)).map(({ rows }) => rows.map(([name]) => name ?? ''));
  return { indexes, detaches };
}

// Read as JSON, because servers before version 14 have no column inhdetachpending.
const steps: Step[] = [
  'select indexrelid::pg_catalog.regclass::text from pg_catalog.pg_index where not indisvalid',
  `select pg_catalog.format('ALTER TABLE %s DETACH PARTITION %s FINALIZE', inhparent::pg_catalog.regclass, inhrelid::pg_catalog.regclass)
     from pg_catalog.pg_inherits i where (pg_catalog.to_jsonb(i) ->> 'inhdetachpending'::text)::boolean`,
].map((text) => ({ kind: 'run', text }));

export interface LeftBehind {
  /** Whether a part of the statement is in effect and has to be ended. */
  partial: boolean;
  /** To append to the error's text; may be empty. */
  words: string;
}

/** What failed statements left behind; null when their session cannot tell any more. */
export async function findLeftBehind(
  session: PostgresSession,
  before: Unfinished,
  statements: readonly { text: string }[],
): Promise<LeftBehind | null> {
  // A late cancel of the statement can hit the question instead.
  for (let attempt = 0; attempt < 3 && !session.lost; attempt++) {
    try {
      const after = await findUnfinished(session);
      // Somebody else may detach another partition meanwhile.
      const isDetaching = statements.some(({ text }) => /\bdetach\b/i.test(text));
      return compare(before, isDetaching ? after : { ...after, detaches: [] });
    } catch {
      // Ask again, unless the connection is gone.
    }
  }
  return null;
}

function compare(before: Unfinished, after: Unfinished): LeftBehind {
  const indexes = after.indexes.filter((index) => !before.indexes.includes(index));
  const detaches = after.detaches.filter((detach) => !before.detaches.includes(detach));
  const words = [
    ...(indexes.length > 0 ? [`; an invalid index was left behind: ${indexes.join(', ')}`] : []),
    ...(detaches.length > 0 ? [`; a partition is half detached: to end that, ${detaches.join('; ')}`] : []),
  ];
  return { partial: detaches.length > 0, words: words.join('') };
}
