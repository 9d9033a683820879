import { type SqlToken, sqlTokens } from '../../lib/sql-tokens.js';
import { visibleLines } from '../../lib/visible.js';
import type { Style } from './style.js';

/** SQL for a terminal, with coloured keywords, texts, numbers and comments. */
export function highlightSql(sql: string, style: Style): string {
  if (!style.colours) return visibleLines(sql);
  return sqlTokens(sql.replace(/\r\n/g, '\n'))
    .map(({ kind, text }) => paint({ kind, text: visibleLines(text) }, style))
    .join('');
}

function paint({ kind, text }: SqlToken, style: Style): string {
  if (kind === 'comment') return style.dim(text);
  if (kind === 'text') return style.green(text);
  if (kind === 'number') return style.magenta(text);
  return kind === 'keyword' ? style.blue(text) : text;
}
