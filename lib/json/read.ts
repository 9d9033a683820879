export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** One JSON value as it stands in its text: numbers keep their digits, objects their order and repeated keys (CL-15). */
export interface JsonText {
  readonly kind: JsonKind;
  /** The exact characters of the value. */
  readonly text: string;
  /** Members of an object in order, repeated keys included; empty for other kinds. */
  entries(): [string, JsonText][];
  /** Elements of an array; empty for other kinds. */
  items(): JsonText[];
  /** The last member of that name, as HT-49 counts. */
  get(key: string): JsonText | undefined;
  /** The decoded string, or null for another kind. */
  string(): string | null;
}

/** Reads one JSON text (RFC 8259) without changing it. Throws SyntaxError if it is none. Only memory limits the depth. */
export function readJson(text: string): JsonText {
  JSON.parse(text);
  const start = skipBlanks(text, 0);
  return new Span(text, start, valueEnd(text, start));
}

/** Null if it is no JSON. */
export function tryJson(text: string): JsonText | null {
  try {
    return readJson(text);
  } catch {
    return null;
  }
}

/** The same JSON text on one line: a raw CR or LF can only stand between tokens, where a blank means the same (CL-12). */
export function onOneLine(text: string): string {
  return text.replace(/[\r\n]/g, ' ').trim();
}

/** The same JSON text without white space between tokens. */
export function compactJson(text: string): string {
  let result = '';
  let at = 0;
  while (at < text.length) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return result + text.slice(at).replace(blanks, '');
    const end = stringEnd(text, quote);
    result += text.slice(at, quote).replace(blanks, '') + text.slice(quote, end);
    at = end;
  }
  return result;
}

const blanks = /[ \t\r\n]+/g;

/** Looks only at the levels that are asked for, so that depth costs no stack. `readJson` has checked the text. */
class Span implements JsonText {
  private readonly source: string;
  private readonly start: number;
  private readonly end: number;

  constructor(source: string, start: number, end: number) {
    this.source = source;
    this.start = start;
    this.end = end;
  }

  get kind(): JsonKind {
    const first = this.source[this.start];
    if (first === '{') return 'object';
    if (first === '[') return 'array';
    if (first === '"') return 'string';
    if (first === 'n') return 'null';
    return first === 't' || first === 'f' ? 'boolean' : 'number';
  }

  get text(): string {
    return this.source.slice(this.start, this.end);
  }

  entries(): [string, JsonText][] {
    const found: [string, JsonText][] = [];
    if (this.kind !== 'object') return found;
    let at = skipBlanks(this.source, this.start + 1);
    while (this.source[at] !== '}') {
      const keyEnd = stringEnd(this.source, at);
      const value = this.valueAt(skipBlanks(this.source, skipBlanks(this.source, keyEnd) + 1));
      found.push([JSON.parse(this.source.slice(at, keyEnd)) as string, value]);
      at = afterComma(this.source, value.end);
    }
    return found;
  }

  items(): JsonText[] {
    const found: JsonText[] = [];
    if (this.kind !== 'array') return found;
    let at = skipBlanks(this.source, this.start + 1);
    while (this.source[at] !== ']') {
      const value = this.valueAt(at);
      found.push(value);
      at = afterComma(this.source, value.end);
    }
    return found;
  }

  get(key: string): JsonText | undefined {
    return this.entries().findLast(([name]) => name === key)?.[1];
  }

  string(): string | null {
    return this.kind === 'string' ? (JSON.parse(this.text) as string) : null;
  }

  private valueAt(start: number): Span {
    return new Span(this.source, start, valueEnd(this.source, start));
  }
}

function afterComma(text: string, from: number): number {
  const at = skipBlanks(text, from);
  return text[at] === ',' ? skipBlanks(text, at + 1) : at;
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
  const first = text[start];
  if (first === '"') return stringEnd(text, start);
  if (first !== '{' && first !== '[') return scalarEnd(text, start);
  let depth = 0;
  let at = start;
  do {
    const character = text[at];
    if (character === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (character === '{' || character === '[') depth += 1;
    if (character === '}' || character === ']') depth -= 1;
    at += 1;
  } while (depth > 0);
  return at;
}

function scalarEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && !',]} \t\r\n'.includes(text[at]!)) at += 1;
  return at;
}
