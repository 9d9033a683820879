/** `name` is a quoted identifier, `sign` an operator. Comments and white space are not tokens. */
export type MysqlTokenKind = 'word' | 'name' | 'string' | 'number' | 'sign';
export interface MysqlToken {
  readonly kind: MysqlTokenKind;
  /** Offsets into the text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** The token as written. */
  readonly text: string;
  /** A word in ASCII upper case, or a sign. Empty for all else, so that no quoted text or accented word is taken for a keyword. */
  readonly upper: string;
  /** Directly after a dot, where the server reads any word as part of a name. */
  readonly dotted: boolean;
}
export type Lexed =
  | { readonly ok: true; readonly tokens: readonly MysqlToken[] }
  | { readonly ok: false; readonly message: string };

/**
 * The tokens of a MySQL or MariaDB text by the lexical rules of SQ-70, under the `sql_mode` that the agent sets (no ANSI_QUOTES, no
 * NO_BACKSLASH_ESCAPES). Anything that servers or versions read differently is an error, never a guess.
 */
export function lexMysql(text: string): Lexed {
  const tokens: MysqlToken[] = [];
  let at = 0;
  while (at < text.length) {
    const step = pieceAt(text, at, tokens.at(-1));
    if (typeof step === 'string') return { ok: false, message: step };
    if (step.kind !== 'gap') {
      const piece = text.slice(at, step.end);
      const upper = step.kind === 'sign' || (step.kind === 'word' && ascii.test(piece)) ? piece.toUpperCase() : '';
      tokens.push({ kind: step.kind, start: at, end: step.end, text: piece, upper, dotted: isBehindDot(tokens.at(-1), at) });
    }
    at = step.end;
  }
  return { ok: true, tokens };
}

interface Piece {
  kind: MysqlTokenKind | 'gap';
  end: number;
}

/** The piece that begins here, or what is wrong with it. */
function pieceAt(text: string, at: number, last: MysqlToken | undefined): Piece | string {
  const char = text[at] ?? '';
  if (space.test(char)) return { kind: 'gap', end: at + 1 };
  if (char === '#' || isDashComment(text, at)) return { kind: 'gap', end: endOfLine(text, at) };
  if (char === '/' && text[at + 1] === '*') return comment(text, at);
  if (char === '`') return quoted(text, at, 'name');
  if (char === "'" || char === '"') return quoted(text, at, 'string');
  if (text[at + 1] === "'" && 'nNxXbB'.includes(char)) return prefixed(text, at);
  if (
    !isBehindDot(last, at) &&
    (digit.test(char) || (char === '.' && digit.test(text[at + 1] ?? '') && !followsName(text, at, last)))
  )
    return number(text, at);
  const word = match(wordPattern, text, at);
  if (word !== null) return { kind: 'word', end: at + word.length };
  if (text.startsWith(':=', at)) return { kind: 'sign', end: at + 2 };
  return signs.includes(char) ? { kind: 'sign', end: at + 1 } : `a character that does not belong here: ${JSON.stringify(char)}`;
}

/** White space or the end must follow. Before another control character the server also begins a comment; the character itself is refused. */
const isDashComment = (text: string, at: number): boolean =>
  text.startsWith('--', at) && /^[ \t\n\v\f\r]?$/.test(text.slice(at + 2, at + 3));

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

function comment(text: string, at: number): Piece | string {
  if (/^\/\*[Mm]?!/.test(text.slice(at, at + 4))) return 'an executable comment';
  const end = text.indexOf('*/', at + 2);
  if (end === -1) return 'an open comment';
  const isHint = text[at + 2] === '+';
  if (isHint && /SET_VAR/i.test(text.slice(at, end))) return 'the hint SET_VAR';
  // The server's scanner of hints knows quotes, so it may end the hint elsewhere.
  if (isHint && /['"`]/.test(text.slice(at, end))) return 'a quote inside a hint';
  return { kind: 'gap', end: end + 2 };
}

/** A doubled quote is kept; a backslash escapes in strings only. */
function quoted(text: string, open: number, kind: 'name' | 'string'): Piece | string {
  const quote = text[open];
  let at = open + 1;
  while (at < text.length) {
    if (text[at] === '\\' && kind === 'string') at += 2;
    else if (text[at] !== quote) at += 1;
    else if (text[at + 1] === quote) at += 2;
    else if (kind === 'name' && at === open + 1) return 'an empty name';
    else return { kind, end: at + 1 };
  }
  return 'an open quote';
}

function prefixed(text: string, at: number): Piece | string {
  const piece = quoted(text, at + 1, 'string');
  if (typeof piece === 'string' || /n/i.test(text[at] ?? '')) return piece;
  const digits = /x/i.test(text[at] ?? '') ? /^x'([0-9a-f]{2})*'$/i : /^b'[01]*'$/i;
  return digits.test(text.slice(at, piece.end)) ? piece : 'a malformed hexadecimal or bit constant';
}

/** A word may begin with digits. For the server `1e5x` and `1.x` are two tokens, so they are refused. */
function number(text: string, at: number): Piece | string {
  const word = match(wordPattern, text, at) ?? '';
  if (word !== '' && !/^\d+(e\d*)?$/i.test(word))
    return /^\d+e\d/i.test(word)
      ? 'a number that runs into a word'
      : { kind: numeric.test(word) ? 'number' : 'word', end: at + word.length };
  const end = at + (match(numberPattern, text, at) ?? '').length;
  return /[\w$.\x80-\uffff]/.test(text[end] ?? '') ? 'a number that runs into a word' : { kind: 'number', end };
}

/** `t.5` names a column, `t .5` and `1 .5` hold a number. */
const followsName = (text: string, at: number, last: MysqlToken | undefined): boolean =>
  last !== undefined && last.end === at && (last.kind === 'word' || last.kind === 'name') && text[at] === '.';

const isBehindDot = (last: MysqlToken | undefined, at: number): boolean => last?.upper === '.' && last.end === at;

function match(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

const space = /[ \t\n\v\f\r]/;
const digit = /\d/;
const ascii = /^[\x00-\x7f]*$/;
/** The server's unquoted names end at U+FFFF; surrogates are excluded. */
const wordPattern = /[\w$\x80-\ud7ff\ue000-\uffff]+/y;
const numberPattern = /(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?/y;
const numeric = /^(0x[0-9a-f]+|0b[01]+)$/;
/** A colon stands behind the label of a block; `cutStatements` refuses it, for only bodies have one. */
const signs = '(),;:.@=<>!+-*/%^&|~';
