/** Whether a text is one JSON text (RFC 8259); builds nothing, so that a large one costs no memory. */
export function isJsonText(text: string): boolean {
  const open = openBrackets();
  let at = 0;
  for (;;) {
    at = skipBlank(text, at);
    const first = text.charCodeAt(at);
    if (first === brace || first === bracket) {
      const inside = skipBlank(text, at + 1);
      if (text.charCodeAt(inside) !== first + 2) {
        open.push(first);
        at = first === brace ? skipKey(text, inside) : inside;
        if (at < 0) return false;
        continue;
      }
      at = inside + 1;
    } else {
      at = skipScalar(text, at);
      if (at < 0) return false;
    }
    for (;;) {
      at = skipBlank(text, at);
      const innermost = open.last();
      if (innermost === 0) return at === text.length;
      const next = text.charCodeAt(at);
      at += 1;
      if (next === comma) {
        if (innermost === brace) at = skipKey(text, skipBlank(text, at));
        if (at < 0) return false;
        break;
      }
      if (next !== innermost + 2) return false;
      open.pop();
    }
  }
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const bracket = 0x5b;
const backslash = 0x5c;
/** Either bracket is closed by the character two further on. */
const brace = 0x7b;

/** One byte for each bracket that is open: nesting is bounded by the text alone. */
function openBrackets() {
  let held = new Uint8Array(64);
  let depth = 0;
  return {
    push(kind: number) {
      if (depth === held.length) {
        const larger = new Uint8Array(depth * 2);
        larger.set(held);
        held = larger;
      }
      held[depth] = kind;
      depth += 1;
    },
    pop() {
      depth -= 1;
    },
    last: () => (depth === 0 ? 0 : (held[depth - 1] ?? 0)),
  };
}

function skipBlank(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** The place after what is there, -1 when it is something else; so do all below. */
function skipKey(text: string, at: number): number {
  if (text.charCodeAt(at) !== quote) return -1;
  const after = skipString(text, at + 1);
  if (after < 0) return -1;
  const place = skipBlank(text, after);
  return text.charCodeAt(place) === colon ? place + 1 : -1;
}

function skipScalar(text: string, at: number): number {
  if (text.charCodeAt(at) === quote) return skipString(text, at + 1);
  for (const word of ['true', 'false', 'null']) if (text.startsWith(word, at)) return at + word.length;
  return skipNumber(text, at);
}

function skipString(text: string, from: number): number {
  for (let at = from; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at + 1;
    // Also past the end, where there is no code.
    if (!(code >= 0x20)) return -1;
    if (code !== backslash) continue;
    at += 1;
    const escaped = text[at] ?? '';
    if (escaped === 'u') {
      if (!/^[0-9a-fA-F]{4}$/.test(text.slice(at + 1, at + 5))) return -1;
      at += 4;
    } else if (escaped === '' || !'"\\/bfnrt'.includes(escaped)) return -1;
  }
}

function skipNumber(text: string, from: number): number {
  let at = text[from] === '-' ? from + 1 : from;
  at = text[at] === '0' ? at + 1 : skipDigits(text, at);
  if (at >= 0 && text[at] === '.') at = skipDigits(text, at + 1);
  if (at < 0 || (text[at] !== 'e' && text[at] !== 'E')) return at;
  at += 1;
  if (text[at] === '+' || text[at] === '-') at += 1;
  return skipDigits(text, at);
}

function skipDigits(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code >= 0x30 && code <= 0x39; code = text.charCodeAt(at)) at += 1;
  return at === from ? -1 : at;
}
