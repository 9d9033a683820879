import { type SqlToken, sqlTokens } from '../../lib/sql-tokens.js';
import { visibleLines } from '../../lib/visible.js';
import type { Style } from './style.js';

/** SQL for a terminal, with coloured keywords, texts, numbers and comments. */
export function highlightSql(sql: string, style: Style): string {
  const text = visibleLines(sql);
  if (!style.colours) return text;
  return sqlTokens(text)
    .map((token) => paint(token, style))
    .join('');
}

function paint({ kind, text }: SqlToken, style: Style): string {
  if (kind === 'comment') return style.dim(text);
  if (kind === 'text') return style.green(text);
  if (kind === 'number') return style.magenta(text);
  return kind === 'keyword' ? style.blue(text) : text;
}
