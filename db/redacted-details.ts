import type { Queryable } from './client.js';

/** How the text of a request begins, with its literals and without them (AU-51), and whether the whole of it is the wanted one. */
interface ComparedDetail {
  start: string;
  literalFree: string;
  isWanted: boolean;
}

interface Comparison {
  /** Literal-free. */
  wanted: string;
  /** Characters of the literal-free texts. */
  comparedLength: number;
  /** Characters of the texts. */
  shownLength: number;
}

/** The texts of requests, which their reader must be allowed to see. Only their starts are read: each may have a MiB. */
export async function compareDetails(
  db: Queryable,
  ids: readonly string[],
  { wanted, comparedLength, shownLength }: Comparison,
): Promise<Map<string, ComparedDetail>> {
  const rows = await db.query<ComparedDetail & { id: string }>(
    `select id, left(detail, $4) as start, left(redacted_detail, $3) as "literalFree", redacted_detail = $2 as "isWanted"
     from requests where id = any($1::uuid[])`,
    [ids, wanted, comparedLength, shownLength],
  );
  return new Map(rows.map(({ id, ...compared }) => [id, compared]));
}
