import { arrayText } from '../../../lib/json/write.js';
/**
 * Converts an array from PostgreSQL's text form to JSON; `writeElement` converts the elements. Null when the text has custom
 * bounds or is no array: the caller then keeps the text.
 */
export function readArray(text: string, delimiter: string, writeElement: (text: string) => string): string | null {
  if (!text.startsWith('{')) return null;
  let at = 0;
  const list = (): string | null => {
    at++;
    const items: string[] = [];
    while (text[at] !== '}') {
      const item = text[at] === '{' ? list() : element();
      if (item === null || at >= text.length) return null;
      items.push(item);
      if (text[at] === delimiter) at++;
    }
    at++;
    return arrayText(items);
  };
  const element = (): string => {
    if (text[at] === '"') return writeElement(quoted());
    const start = at;
    while (at < text.length && text[at] !== delimiter && text[at] !== '}') at++;
    const bare = text.slice(start, at);
    return bare === 'NULL' ? 'null' : writeElement(bare);
  };
  const quoted = (): string => {
    let value = '';
    for (at++; at < text.length && text[at] !== '"'; at++) {
      if (text[at] === '\\') at++;
      value += text[at];
    }
    at++;
    return value;
  };
  const json = list();
  return at === text.length ? json : null;
}
