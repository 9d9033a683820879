import pg from 'pg';

const int8 = 20;
const timestamptz = 1184;

/** Row values of our own database: 64-bit integers as numbers (ours stay far below 2^53), instants as milliseconds since the epoch. */
export const rowTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === int8) return Number;
    if (oid === timestamptz) return instant;
    return pg.types.getTypeParser(oid, format);
  }) as typeof pg.types.getTypeParser,
};

/** Sessions run in UTC, so the text ends in `+00`. */
function instant(text: string): number {
  return Date.parse(`${text.replace(' ', 'T').slice(0, -3)}Z`);
}

/** An instant as a query parameter. */
export const at = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

/** RFC 3339 in UTC with milliseconds, as answers show it (HT-73). */
export const iso = (ms: number): string => new Date(ms).toISOString();

export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));
