import { useState } from 'preact/hooks';
import { me } from './session.js';

const texts = new Map<string, string>();
const most = 50;

/**
 * A text that is being typed, which outlives its page: the session may end in the middle of it. It is the user's own, and gone with the
 * window.
 */
export function useKept(place: string): [text: string, keep: (text: string) => void] {
  const key = `${me()} ${place}`;
  const [text, setText] = useState(() => texts.get(key) ?? '');
  const keep = (next: string) => {
    texts.delete(key);
    if (next !== '') texts.set(key, next);
    for (const oldest of [...texts.keys()].slice(0, -most)) texts.delete(oldest);
    setText(next);
  };
  return [text, keep];
}
