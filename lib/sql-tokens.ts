export interface SqlToken {
  kind: 'comment' | 'text' | 'number' | 'keyword' | 'plain';
  text: string;
}

/** The parts of a text of SQL, for colours only: a wrong guess is harmless. Together they are the text. */
export function sqlTokens(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  let end = 0;
  for (const { 0: text, index } of sql.matchAll(token)) {
    if (index > end) tokens.push({ kind: 'plain', text: sql.slice(end, index) });
    tokens.push({ kind: kindOf(text), text });
    end = index + text.length;
  }
  return end < sql.length ? [...tokens, { kind: 'plain', text: sql.slice(end) }] : tokens;
}

const token =
  /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|\b\d+(?:\.\d+)?\b|\b[A-Za-z_][A-Za-z0-9_]*\b/g;

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
  if (text.startsWith('--') || /^\/\*(?!M?!)/.test(text)) return 'comment';
  if (text.startsWith("'") || text.startsWith('$')) return 'text';
  if (/^\d/.test(text)) return 'number';
  return keywords.has(text.toUpperCase()) ? 'keyword' : 'plain';
}
