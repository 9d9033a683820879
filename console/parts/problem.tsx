import { visible } from '../../lib/visible.js';
import { Refused } from '../http/refused.js';

/** What went wrong, in the server's words, and what to do about it. */
export function Problem({ error }: { error: Error | null }) {
  if (error === null) return null;
  const hint = error instanceof Refused ? error.hint : null;
  return (
    <div class="problem" role="alert">
      <strong>{visible(sentence(error.message))}</strong>
      {hint !== null && <span> {visible(sentence(placed(hint)))}</span>}
    </div>
  );
}

/** A refused field comes as its place in the call (HT-91). */
const placed = (hint: string) => hint.replace(/^(?:body|query)\.(?=\w+(?:[[.]|$))/, 'see the field ');

const sentence = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
