import { useMemo } from 'preact/hooks';
import { sqlTokens } from '../../lib/sql-tokens.js';
import { visible } from '../../lib/visible.js';
import { Copy } from './copy.js';

/** Beyond this, colours would take longer than they help. */
const maxColoured = 60_000;

/** The whole text of SQL, with the numbers of its lines. What is copied is the text as it was sent. */
export function Sql({ text, label }: { text: string; label: string }) {
  const lines = useMemo(() => linesOf(text), [text]);
  return (
    <figure class="sql">
      <figcaption>
        <span>{label}</span>
        <span class="quiet">{lines.length === 1 ? '1 line' : `${lines.length} lines`}</span>
        <Copy text={text} what="the SQL" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section class="code" aria-label={label} tabIndex={0}>
        <ol>
          {lines.map((parts, index) => (
            <li key={index}>
              <code>{parts}</code>
            </li>
          ))}
        </ol>
      </section>
    </figure>
  );
}

function linesOf(text: string) {
  const clean = text.replace(/\r\n/g, '\n');
  const tokens = clean.length > maxColoured ? [{ kind: 'plain' as const, text: clean }] : sqlTokens(clean);
  const lines: (string | preact.JSX.Element)[][] = [[]];
  for (const { kind, text: part } of tokens) {
    for (const [index, piece] of part.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (piece === '') continue;
      const shown = visible(piece.replaceAll('\t', '  '));
      lines.at(-1)!.push(kind === 'plain' ? shown : <span class={`sql-${kind}`}>{shown}</span>);
    }
  }
  return lines;
}
