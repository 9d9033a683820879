import { exactText, whenText } from '../format/instants.js';
import { now } from '../state/clock.js';

/** An instant in words, with the exact one for who points at it (CO-31). */
export function When({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="quiet">never</span>;
  return (
    <time dateTime={at} title={exactText(at)}>
      {whenText(at, now.value)}
    </time>
  );
}
