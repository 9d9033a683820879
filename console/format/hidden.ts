import { visible } from '../../lib/visible.js';

/** The first character of a text that nobody would see, as `visible` shows it; null where there is none. */
export function hiddenIn(text: string): string | null {
  const lines = text.split(/\r?\n/).map((line) => line.replaceAll('\t', ' '));
  const line = lines.find((each) => visible(each) !== each);
  return [...(line ?? '')].map(visible).find((shown) => shown.startsWith('\\u')) ?? null;
}
