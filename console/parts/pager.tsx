import { withCommas } from '../../lib/counts.js';

interface PagerProps {
  offset: number;
  size: number;
  total: number;
  href: (offset: number) => string;
}

/** The way to the pages before and after; nothing where there is only one. */
export function Pager({ offset, size, total, href }: PagerProps) {
  if (offset === 0 && total <= size) return null;
  const last = Math.min(total, offset + size);
  return (
    <nav class="pager" aria-label="Pages of the list">
      {offset > 0 ? <a href={href(Math.max(0, offset - size))}>← before</a> : <span class="quiet">← before</span>}
      <span>
        {withCommas(Math.min(offset + 1, last))} to {withCommas(last)} of {withCommas(total)}
      </span>
      {last < total ? <a href={href(offset + size)}>after →</a> : <span class="quiet">after →</span>}
    </nav>
  );
}
