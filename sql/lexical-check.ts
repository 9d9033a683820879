/** The first thing in the text that MySQL would read differently from PostgreSQL, or null (SQ-2). */
export function findAmbiguity(text: string): string | null {
  let at = 0;
  while (at < text.length) {
    const step = stepAt(text, at);
    if (typeof step === 'string') return step;
    at = step;
  }
  return null;
}

/** Where the next piece begins, or what is ambiguous in this one. */
function stepAt(text: string, at: number): number | string {
  const char = text[at];
  if (char === "'" || char === '"') return afterQuoted(text, at, char);
  if (char === '`') return 'a backtick';
  if (char === '#') return '#';
  if (char === '$') return beginsDollarQuote(text, at) ? 'a dollar quote' : at + 1;
  if (text.startsWith('--', at)) return afterLineComment(text, at);
  if (text.startsWith('/*', at)) return afterBlockComment(text, at);
  return at + 1;
}

function afterQuoted(text: string, start: number, quote: string): number | string {
  const end = text.indexOf(quote, start + 1);
  const stop = end === -1 ? text.length : end;
  return text.slice(start, stop).includes('\\') ? 'a backslash inside quotes' : stop + 1;
}

function afterLineComment(text: string, start: number): number | string {
  if (!/^([ \t\n\v\f\r]|$)/.test(text.slice(start + 2, start + 3))) return '-- not followed by white space';
  const end = text.indexOf('\n', start);
  const stop = end === -1 ? text.length : end;
  // PostgreSQL ends the comment at a carriage return, MySQL does not.
  return /\r(?!$)/.test(text.slice(start, stop)) ? 'a carriage return in a comment' : stop;
}

function afterBlockComment(text: string, start: number): number | string {
  const opening = /^\/\*([Mm]?!|\+)/.exec(text.slice(start, start + 4));
  if (opening !== null) return opening[0];
  const end = text.indexOf('*/', start + 2);
  const stop = end === -1 ? text.length : end;
  return text.slice(start + 2, stop + 1).includes('/*') ? 'a nested comment' : stop + 2;
}

function beginsDollarQuote(text: string, at: number): boolean {
  dollarQuote.lastIndex = at;
  return dollarQuote.test(text);
}

const dollarQuote = /\$([A-Za-z_\x80-\uffff][\w\x80-\uffff]*)?\$/y;
