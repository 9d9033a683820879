/**
 * The text of a JSON string as UTF-8, written over the string's own bytes, which are never fewer, so that a large one is not held
 * twice. Between `from` and `to` stands the inside of a valid string in UTF-8. U+0000 and unpaired surrogates become U+FFFD
 * (AG-50a).
 */
export function unescapeInPlace(bytes: Uint8Array, from: number, to: number): Uint8Array {
  let end = from;
  for (let at = from; at < to; ) {
    const byte = bytes[at]!;
    const letter = bytes[at + 1];
    if (byte !== backslash) {
      bytes[end] = byte;
      end += 1;
      at += 1;
    } else if (letter !== letterU) {
      bytes[end] = meant[letter!]!;
      end += 1;
      at += 2;
    } else {
      const first = unitAt(bytes, at);
      // What follows the last escape is the closing quote.
      const pair = first >> 10 === highSurrogate && bytes[at + 6] === backslash && bytes[at + 7] === letterU;
      const second = pair ? unitAt(bytes, at + 6) : 0;
      const paired = second >> 10 === lowSurrogate;
      end = writeCharacter(bytes, end, paired ? 0x1_0000 + ((first & 0x3ff) << 10) + (second & 0x3ff) : first);
      at += paired ? 12 : 6;
    }
  }
  return bytes.subarray(from, end);
}

const backslash = 0x5c;
const letterU = 0x75;
/** A high surrogate without its ten lower bits. */
const highSurrogate = 0xd800 >> 10;
const lowSurrogate = 0xdc00 >> 10;
/** The meaning of an escape of one letter; all but five stand for themselves. */
const meant = Uint8Array.from({ length: 128 }, (_, letter) => letter);
for (const [letter, character] of ['b\b', 'f\f', 'n\n', 'r\r', 't\t']) meant[letter!.charCodeAt(0)] = character!.charCodeAt(0);

/** The UTF-16 unit of the `\uXXXX` that begins at `at`. */
export function unitAt(bytes: Uint8Array, at: number): number {
  let unit = 0;
  for (let place = at + 2; place < at + 6; place += 1) {
    const digit = bytes[place]!;
    unit = unit * 16 + (digit & 0xf) + (digit > 0x39 ? 9 : 0);
  }
  return unit;
}

/** Returns the place after the character, which takes up to four bytes. */
function writeCharacter(bytes: Uint8Array, at: number, character: number): number {
  const bare = character === 0 || (character >= 0xd800 && character <= 0xdfff);
  const code = bare ? 0xfffd : character;
  if (code < 0x80) {
    bytes[at] = code;
    return at + 1;
  }
  const more = code < 0x800 ? 1 : code < 0x1_0000 ? 2 : 3;
  bytes[at] = (0xff << (7 - more)) | (code >> (6 * more));
  for (let left = more; left > 0; left -= 1) bytes[at + 1 + more - left] = 0x80 | ((code >> (6 * (left - 1))) & 0x3f);
  return at + 1 + more;
}
