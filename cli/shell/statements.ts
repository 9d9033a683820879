export interface Split {
  /** Without their semicolons; what holds only comments is left out. */
  statements: string[];
  /** What follows the last semicolon; empty when that is only blanks and comments. */
  rest: string;
  /** What the rest begins and does not end; null when the rest could end here. */
  open: 'quote' | 'comment' | 'parenthesis' | null;
}

export type Lexis = 'postgresql' | 'mysql';

/**
 * Splits a text at the semicolons outside of quotes, comments and parentheses, as psql and mysql do. It guesses what the person
 * means, no more: the server parses each statement itself.
 */
export function splitStatements(text: string, lexis: Lexis): Split {
  const statements: string[] = [];
  let [start, depth, hasContent] = [0, 0, false];
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at, lexis);
    if (typeof token === 'string') return { statements, rest: text.slice(start), open: token };
    const sign = token.end - at === 1 ? text[at] : '';
    at = token.end;
    if (token.isBlank) continue;
    if (sign === ';' && depth === 0) {
      if (hasContent) statements.push(text.slice(start, at - 1).trim());
      [start, hasContent] = [at, false];
      continue;
    }
    hasContent = true;
    if (sign === '(') depth += 1;
    if (sign === ')') depth = Math.max(0, depth - 1);
  }
  return { statements, rest: hasContent ? text.slice(start) : '', open: depth > 0 ? 'parenthesis' : null };
}

interface Token {
  end: number;
  /** White space or a comment. */
  isBlank: boolean;
}

/** The token at a place, or what is opened there and never closed. */
function tokenAt(text: string, at: number, lexis: Lexis): Token | 'quote' | 'comment' {
  const { blank, quoted, opening, word } = forms[lexis];
  if (text.startsWith('/*', at)) {
    const end = lexis === 'mysql' ? mysqlCommentEnd(text, at) : nestedCommentEnd(text, at);
    // MySQL and MariaDB run the content of /*! and /*M!.
    return end === null ? 'comment' : { end, isBlank: !/^\/\*M?!/.test(text.slice(at, at + 4)) };
  }
  const end = (form: RegExp) => {
    form.lastIndex = at;
    return form.test(text) ? form.lastIndex : null;
  };
  const blankEnd = end(blank);
  if (blankEnd !== null) return { end: blankEnd, isBlank: true };
  const quotedEnd = end(quoted);
  if (quotedEnd === null && end(opening) !== null) return 'quote';
  return { end: quotedEnd ?? end(word) ?? at + 1, isBlank: false };
}

/** Sticky, so that each looks at one place only. A word is taken whole: its dollar signs and its last E open nothing. */
const forms: Record<Lexis, { blank: RegExp; quoted: RegExp; opening: RegExp; word: RegExp }> = {
  postgresql: {
    blank: /\s+|--[^\n]*/y,
    quoted:
      /[eE]'[^'\\]*(?:(?:''|\\[\s\S])[^'\\]*)*'(?!')|'[^']*(?:''[^']*)*'(?!')|"[^"]*(?:""[^"]*)*"(?!")|\$((?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$[\s\S]*?\$\1\$/y,
    opening: /[eE]?'|"|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y,
    word: /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y,
  },
  mysql: {
    blank: /\s+|#[^\n]*|--(?=\s|$)[^\n]*/y,
    quoted: /'[^'\\]*(?:(?:''|\\[\s\S])[^'\\]*)*'(?!')|"[^"\\]*(?:(?:""|\\[\s\S])[^"\\]*)*"(?!")|`[^`]*(?:``[^`]*)*`(?!`)/y,
    opening: /['"`]/y,
    word: /[\w$\u0080-\uffff]+/y,
  },
};

function mysqlCommentEnd(text: string, at: number): number | null {
  const end = text.indexOf('*/', at + 2);
  return end === -1 ? null : end + 2;
}

function nestedCommentEnd(text: string, at: number): number | null {
  const sign = /\/\*|\*\//g;
  sign.lastIndex = at;
  let depth = 0;
  for (let found = sign.exec(text); found !== null; found = sign.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1;
    if (depth === 0) return sign.lastIndex;
  }
  return null;
}
