/** The terminal columns of a text: wide East Asian characters and emoji take two, combining marks none. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += graphemeWidth(segment);
  return width;
}

/** The text truncated to `columns`; `...` replaces the end of a longer text. */
export function cutToWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let result = '';
  let width = 0;
  for (const { segment } of graphemesOf(text.slice(0, columns * 8))) {
    width += graphemeWidth(segment);
    if (width > columns - 3) break;
    result += segment;
  }
  return `${result}...`;
}

/** Pads with spaces to `columns`, on the left when `right` is set. */
export function padToWidth(text: string, columns: number, right = false): string {
  const blanks = ' '.repeat(Math.max(0, columns - displayWidth(text)));
  return right ? blanks + text : text + blanks;
}

const plain = /^[\x20-\x7e]*$/;
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}]/u;
const emoji = /\p{Emoji_Presentation}|\ufe0f/u;

let segmenter: Intl.Segmenter | undefined;

/** Creating a segmenter takes 9 ms, and most commands never need one. */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** East Asian Width W and F, in the blocks of Unicode 15. */
const wideRanges: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1f64f],
  [0x1f900, 0x1f9ff],
  [0x20000, 0x3fffd],
];

function graphemeWidth(grapheme: string): number {
  if (zeroWidth.test(grapheme)) return 0;
  if (emoji.test(grapheme)) return 2;
  const point = grapheme.codePointAt(0) ?? 0;
  return wideRanges.some(([from, to]) => point >= from && point <= to) ? 2 : 1;
}
