import type { Style } from './style.js';
import { visibleLines } from './visible.js';

/** SQL for a terminal, with coloured keywords, texts, numbers and comments. For display only, so a wrong guess is harmless. */
export function highlightSql(sql: string, style: Style): string {
  const text = visibleLines(sql);
  if (!style.colours) return text;
  return text.replace(token, (match) => paint(match, style));
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

function paint(match: string, style: Style): string {
  // MySQL and MariaDB run the content of /*! and /*M!.
  if (match.startsWith('--') || /^\/\*(?!M?!)/.test(match)) return style.dim(match);
  if (match.startsWith('/*')) return match;
  if (match.startsWith("'") || match.startsWith('$')) return style.green(match);
  if (match.startsWith('"')) return match;
  if (/^\d/.test(match)) return style.magenta(match);
  return keywords.has(match.toUpperCase()) ? style.blue(match) : match;
}
