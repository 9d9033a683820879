/**
 * Converts an array from PostgreSQL's text form to JSON; `writeElement` converts the elements. Null when the text has custom
 * bounds or is no array: the caller then keeps the text.
 */
export function readArray(text: string, delimiter: string, writeElement: (text: string) => string): string | null {
  if (!text.startsWith('{')) return null;
  let at = 0;
  const json = createPieces();
  const list = (): boolean => {
    at++;
    json.add('[');
    for (let isFirst = true; text[at] !== '}'; isFirst = false) {
      if (!isFirst) json.add(',');
      if (text[at] !== '{') json.add(element());
      else if (!list()) return false;
      if (at >= text.length) return false;
      if (text[at] === delimiter) at++;
    }
    at++;
    json.add(']');
    return true;
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
  return list() && at === text.length ? json.text() : null;
}

const JOIN_AT = 4096;

/** Joins many short texts. Held apart, these take up to fifty times the memory of the whole (AP-72). */
function createPieces() {
  let joined = '';
  let apart: string[] = [];
  const text = () => {
    joined += apart.join('');
    apart = [];
    return joined;
  };
  return {
    text,
    add(piece: string) {
      if (apart.push(piece) === JOIN_AT) text();
    },
  };
}
