const quote = 0x22;
const backslash = 0x5c;
const bracket = 0x5b;
/** Each bracket is closed by the character two further on. */
const brace = 0x7b;

/**
 * Whether a JSON text in UTF-8 nests deeper than `maxDepth`, found without building anything. If the bytes are not JSON, at least the part that a
 * parser reads before it stops is counted, so that nothing deeper is ever built.
 */
export function isNestedDeeper(bytes: Uint8Array, maxDepth: number): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) at = closingQuote(bytes, at + 1);
    else if (byte === bracket || byte === brace) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (byte === bracket + 2 || byte === brace + 2) depth -= 1;
  }
  return false;
}

function closingQuote(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at;
}
