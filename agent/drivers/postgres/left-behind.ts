import type { Step } from './exchange.js';
import type { PostgresSession } from './session.js';

/** What the failure of a statement outside a transaction can leave in the database. */
export interface Unfinished {
  /** Invalid indexes by name. */
  indexes: readonly string[];
  /** The statements that end what DETACH PARTITION CONCURRENTLY has begun. */
  detaches: readonly string[];
  /** The databases that DROP DATABASE has made unusable. */
  databases: readonly string[];
}

/** What is unfinished in the database now. */
export async function findUnfinished(session: PostgresSession): Promise<Unfinished> {
  const found = (await session.exchange(steps)).map(({ rows }) => rows.map(([name]) => name ?? ''));
  const [indexes = [], detaches = [], databases = []] = found;
  return { indexes, detaches, databases };
}

// Read as JSON, because servers before version 14 have no column inhdetachpending.
const steps: Step[] = [
  'select indexrelid::pg_catalog.regclass::text from pg_catalog.pg_index where not indisvalid',
  `select pg_catalog.format('ALTER TABLE %s DETACH PARTITION %s FINALIZE', inhparent::pg_catalog.regclass, inhrelid::pg_catalog.regclass)
     from pg_catalog.pg_inherits i where (pg_catalog.to_jsonb(i) ->> 'inhdetachpending'::text)::boolean`,
  "select pg_catalog.quote_ident(datname) from pg_catalog.pg_database where datconnlimit = '-2'",
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
      return compare(
        before,
        await findUnfinished(session),
        statements.map(({ text }) => firstWords(text)),
      );
    } catch {
      // Ask again, unless the connection is gone.
    }
  }
  return null;
}

/** Somebody else may detach or drop something meanwhile, so the texts tell whether one of them did; no other ALTER TABLE has to run outside a transaction. */
function compare(before: Unfinished, after: Unfinished, begins: readonly string[]): LeftBehind {
  const added = (kind: keyof Unfinished) => after[kind].filter((one) => !before[kind].includes(one));
  const isDropping = begins.includes('drop index');
  const indexes = added('indexes');
  const databases = begins.includes('drop database') ? added('databases') : [];
  const detaches = begins.includes('alter table') ? added('detaches') : [];
  // An index that is being dropped counted until then: queries used it, and it may have kept values unique.
  const drops = [
    ...(isDropping ? indexes : []).map((name) => `DROP INDEX ${name}`),
    ...databases.map((name) => `DROP DATABASE ${name}`),
  ];
  const words = [
    ...(indexes.length > 0 && !isDropping ? [`; an invalid index was left behind: ${indexes.join(', ')}`] : []),
    ...(detaches.length > 0 ? [`; a partition is half detached: to end that, ${detaches.join('; ')}`] : []),
    ...(drops.length > 0 ? [`; what was dropped can no longer be used: to end that, ${drops.join('; ')}`] : []),
  ];
  return { partial: detaches.length + drops.length > 0, words: words.join('') };
}

/** The two words that a statement begins with, in lower case. Comments, which nest, may stand around them. */
function firstWords(text: string): string {
  const words: string[] = [];
  for (let at = 0, depth = 0; at < text.length && words.length < 2; ) {
    const piece = depth > 0 ? pieceOfComment : pieceOfCode;
    piece.lastIndex = at;
    const [found = ''] = piece.exec(text) ?? [];
    if (found === '/*') depth++;
    else if (found === '*/') depth--;
    else if (depth === 0 && /^\w/.test(found)) words.push(found.toLowerCase());
    at += found.length;
  }
  return words.join(' ');
}

const pieceOfComment = /\/\*|\*\/|./sy;
const pieceOfCode = /--[^\n\r]*|\/\*|\w+|./sy;
