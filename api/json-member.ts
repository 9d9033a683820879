/**
 * The text of a top-level member exactly as it stands in a JSON object that has been parsed before; the last one of that name, as HT-49 counts.
 * Null when there is none.
 */
export function memberText(object: string, key: string): string | null {
  let found: string | null = null;
  let at = skipBlanks(object, object.indexOf('{') + 1);
  while (object[at] === '"') {
    const keyEnd = stringEnd(object, at);
    const start = skipBlanks(object, skipBlanks(object, keyEnd) + 1);
    const end = valueEnd(object, start);
    if (JSON.parse(object.slice(at, keyEnd)) === key) found = object.slice(start, end);
    at = skipBlanks(object, end);
    if (object[at] === ',') at = skipBlanks(object, at + 1);
  }
  return found;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return at;
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function valueEnd(text: string, start: number): number {
  if (text[start] === '"') return stringEnd(text, start);
  let at = start;
  let depth = 0;
  for (; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at) - 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (
      depth === 0 &&
      (character === ',' || character === ' ' || character === '\n' || character === '\r' || character === '\t')
    )
      return at;
  }
  return at;
}
