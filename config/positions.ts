/** Names and array indexes from the root of the file. */
export type Path = readonly (string | number)[];

export interface Positions {
  /** Where the value of a path stands; else the nearest table around it, else 1:1 (CF-60). */
  value(path: Path): Position;
  /** Where the last name of a path is written; for a table, and for what is not there, the same as `value`. */
  key(path: Path): Position;
}

/** Both count from 1; columns count UTF-16 units. */
export interface Position {
  line: number;
  column: number;
}

/** How deep inline tables, arrays and the names in one key are followed. The reader refuses deeper files. */
export const MAX_DEPTH = 32;

/**
 * Maps the paths of a TOML 1.0 text to their places, in one pass. A text that is not valid gives fewer places, never an error.
 */
export function locate(text: string): Positions {
  const marks = scan(text);
  const lines = lineStarts(text);
  const find = (path: Path, part: 'key' | 'value') => {
    for (let length = path.length; length > 0; length--) {
      const mark = marks.get(JSON.stringify(path.slice(0, length)));
      if (mark !== undefined) return toPosition(lines, length === path.length ? mark[part] : mark.key);
    }
    return { line: 1, column: 1 };
  };
  return { value: (path) => find(path, 'value'), key: (path) => find(path, 'key') };
}

interface Mark {
  key: number;
  value: number;
}

interface Scanner {
  text: string;
  at: number;
  marks: Map<string, Mark>;
}

function scan(text: string): Map<string, Mark> {
  const scanner: Scanner = { text, at: 0, marks: new Map() };
  const counts = new Map<string, number>();
  let table: Path = [];
  while (hasMore(scanner)) {
    const start = scanner.at;
    if (text[start] === '[') {
      table = readHeader(scanner, counts);
      mark(scanner, table, { key: start, value: start });
    } else readAssignment(scanner, table, 0);
    if (scanner.at === start) scanner.at++;
  }
  return scanner.marks;
}

/** A header names an array of tables without an index and means its last entry so far. */
function readHeader(scanner: Scanner, counts: Map<string, number>): Path {
  const isArray = scanner.text[scanner.at + 1] === '[';
  const start = scanner.at;
  scanner.at += isArray ? 2 : 1;
  const names = readKey(scanner);
  scanner.at += isArray ? 2 : 1;
  const path: (string | number)[] = [];
  names.forEach((name, index) => {
    path.push(name);
    const id = JSON.stringify(path);
    if (isArray && index === names.length - 1) counts.set(id, (counts.get(id) ?? -1) + 1);
    const entry = counts.get(id);
    mark(scanner, path, { key: start, value: start });
    if (entry !== undefined) path.push(entry);
  });
  return path;
}

function readAssignment(scanner: Scanner, table: Path, depth: number): void {
  const key = scanner.at;
  const path = [...table, ...readKey(scanner)];
  if (scanner.text[scanner.at] === '=') scanner.at++;
  skipSpaces(scanner);
  for (let length = table.length + 1; length < path.length; length++) mark(scanner, path.slice(0, length), { key, value: key });
  readValue(scanner, path, key, depth);
}

function readValue(scanner: Scanner, path: Path, key: number, depth: number): void {
  const start = scanner.at;
  mark(scanner, path, { key, value: start });
  const first = scanner.text[start];
  if (first === '"' || first === "'") readString(scanner);
  else if (first === '[' && depth < MAX_DEPTH)
    readList(scanner, ']', (index) => readValue(scanner, [...path, index], scanner.at, depth + 1));
  else if (first === '{' && depth < MAX_DEPTH) readList(scanner, '}', () => readAssignment(scanner, path, depth + 1));
  else scanner.at = endOf(/[^,\]}#\n]*/y, scanner);
}

function readList(scanner: Scanner, close: ']' | '}', readItem: (index: number) => void): void {
  scanner.at++;
  for (let index = 0; hasMore(scanner); index++) {
    if (scanner.text[scanner.at] === close) break;
    const start = scanner.at;
    readItem(index);
    if (hasMore(scanner) && scanner.text[scanner.at] === ',') scanner.at++;
    if (scanner.at === start) break;
  }
  scanner.at++;
}

/** Reads dotted names up to `=` or `]`, quoted parts included; keeps the first `MAX_DEPTH`. */
function readKey(scanner: Scanner): string[] {
  const names: string[] = [];
  for (;;) {
    skipSpaces(scanner);
    const start = scanner.at;
    const quote = scanner.text[start];
    if (quote === '"' || quote === "'") {
      readString(scanner);
      names.push(unquote(scanner.text.slice(start, scanner.at)));
    } else {
      scanner.at = endOf(/[A-Za-z0-9_-]*/y, scanner);
      names.push(scanner.text.slice(start, scanner.at));
    }
    skipSpaces(scanner);
    if (scanner.text[scanner.at] !== '.') return names.slice(0, MAX_DEPTH);
    scanner.at++;
  }
}

function readString(scanner: Scanner): void {
  const forms = [/"""(?:[^\\]|\\.)*?"{3,5}/sy, /'''.*?'{3,5}/sy, /"(?:[^"\\\n]|\\.)*"/y, /'[^'\n]*'/y];
  for (const form of forms) {
    const end = endOf(form, scanner);
    if (end > scanner.at) {
      scanner.at = end;
      return;
    }
  }
  scanner.at++;
}

/** Reads basic names with the escapes of JSON, which lack `\U` and `\e`; no known key needs those. */
function unquote(quoted: string): string {
  if (quoted.startsWith("'")) return quoted.slice(1, -1);
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted;
  }
}

function mark(scanner: Scanner, path: Path, place: Mark): void {
  const id = JSON.stringify(path);
  if (!scanner.marks.has(id)) scanner.marks.set(id, place);
}

function endOf(pattern: RegExp, scanner: Scanner): number {
  pattern.lastIndex = scanner.at;
  return pattern.test(scanner.text) ? pattern.lastIndex : scanner.at;
}

const skipSpaces = (scanner: Scanner) => {
  scanner.at = endOf(/[ \t]*/y, scanner);
};

/** Skips white space, line ends and comments. Returns whether anything follows. */
function hasMore(scanner: Scanner): boolean {
  scanner.at = endOf(/(?:[\s\uFEFF]|#[^\n]*)*/y, scanner);
  return scanner.at < scanner.text.length;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return starts;
}

/** Finds by halving the last line that starts at or before the offset. */
function toPosition(starts: readonly number[], offset: number): Position {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
}
