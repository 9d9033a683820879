export interface SqlToken {
  kind: 'comment' | 'text' | 'number' | 'keyword' | 'plain';
  text: string;
}

/**
 * The parts of a text of SQL, for colours only. Together they are the text. PostgreSQL and MySQL end some comments, texts and names elsewhere: behind such a
 * place all is plain, so that nobody approves as a comment or a text what one of them runs.
 */
export function sqlTokens(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  let end = 0;
  for (const { 0: text, index } of sql.matchAll(token)) {
    if (isReadTwoWays(text)) break;
    if (index > end) tokens.push({ kind: 'plain', text: sql.slice(end, index) });
    tokens.push({ kind: kindOf(text), text });
    end = index + text.length;
  }
  return end < sql.length ? [...tokens, { kind: 'plain', text: sql.slice(end) }] : tokens;
}

/** A word goes on with `$` and with any character beyond ASCII, as in both databases. */
const token =
  /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`?|#[^\n]*|\$|\d+(?:\.\d+)?(?![\w$\u0080-\uffff])|[\w\u0080-\uffff][\w$\u0080-\uffff]*/g;

/**
 * A comment in a comment, a quote behind a backslash, a carriage return that ends a comment or does not, `$`, which begins a text of PostgreSQL and a name of
 * MySQL, and what could begin something behind `--` and a word or `#`, or in backticks, which only MySQL knows.
 */
function isReadTwoWays(text: string): boolean {
  if (text.startsWith('/*')) return text.indexOf('/*', 2) !== -1;
  if (text.startsWith('--')) return /\r(?!$)/.test(text) || (!isDashed.test(text) && begins.test(text.slice(2)));
  if (/^[`#]/.test(text)) return begins.test(text.slice(1).replace(/`$/, ''));
  if (/^\d*\$/.test(text)) return true;
  const quote = /^['"]/.exec(text)?.[0];
  return quote !== undefined && text.replaceAll('\\\\', '').includes(`\\${quote}`);
}

const begins = /['"`$#\r]|--|\/\*/;

/** For MySQL, `--1` is a number, and no blank beyond ASCII begins a comment. */
const isDashed = /^--([\t\n\v\f\r ]|$)/;

export const keywords = new Set(
  (
    'SELECT FROM WHERE AND OR NOT IN IS NULL AS ON JOIN LEFT RIGHT INNER OUTER FULL CROSS GROUP BY ORDER HAVING LIMIT OFFSET UNION ALL DISTINCT ' +
    'INSERT INTO VALUES UPDATE SET DELETE MERGE USING MATCHED RETURNING WITH RECURSIVE CREATE ALTER DROP TABLE INDEX VIEW SEQUENCE TRUNCATE ADD ' +
    'COLUMN CONSTRAINT PRIMARY KEY FOREIGN REFERENCES UNIQUE DEFAULT CHECK CASCADE CASE WHEN THEN ELSE END EXISTS BETWEEN LIKE ILIKE ASC DESC ' +
    'EXPLAIN ANALYZE SHOW TRUE FALSE IF CONCURRENTLY DO NOTHING CONFLICT INTERVAL DATE TIMESTAMP CAST FOR'
  ).split(' '),
);

function kindOf(text: string): SqlToken['kind'] {
  // MySQL and MariaDB run the content of /*! and /*M!.
  if (isDashed.test(text) || /^\/\*(?!M?!)/.test(text)) return 'comment';
  if (text.startsWith("'")) return 'text';
  if (/^\d+(\.\d+)?$/.test(text)) return 'number';
  return keywords.has(text.toUpperCase()) ? 'keyword' : 'plain';
}
