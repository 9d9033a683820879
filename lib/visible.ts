/**
 * Makes visible every character that could steer a terminal, reorder its neighbours, or is invisible (CL-13, HD-61), including
 * line feeds. Approvers must see what a database will read: `u<no-break space>where` is one name. Emoji stay unchanged.
 */
export function visible(text: string): string {
  return isPlain.test(text) ? text : text.replace(emojiOrHidden, (match) => shownUnlessEmoji(match, escapeForPeople));
}

/** Like `visible`, but keeps line breaks and turns tabs into two spaces, for SQL and messages printed as blocks. */
export function visibleLines(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(/\t/g, '  ').split('\n').map(visible).join('\n');
}

/** Equivalent JSON text with hidden characters made visible; they can only stand inside its strings. Keeps line breaks. */
export function visibleJson(json: string): string {
  return isPlain.test(json) ? json : json.replace(emojiOrHidden, (match) => shownUnlessEmoji(match, escapeForJson));
}

/** Whether nothing of the text can be seen. */
export const isBlank = (text: string): boolean => blank.test(text);

const isPlain = /^[\x20-\x7e]*$/;

/**
 * Controls, format characters, line separators, blanks other than the space, private use, unpaired surrogates, noncharacters,
 * default-ignorable characters (fillers, variation selectors, tags), and four that render as nothing.
 */
const hiddenCharacters =
  '\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}\\p{Co}\\p{Noncharacter_Code_Point}\\p{Default_Ignorable_Code_Point}' +
  '\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000\\u2800\\ufffc\\u{1d159}\\u{16fe4}';
const hiddenClass = `[${hiddenCharacters}]`;
const hidden = new RegExp(hiddenClass, 'gu');
const blank = new RegExp(`^[ ${hiddenCharacters}]*$`, 'u');
const oneEmoji = '\\p{Extended_Pictographic}[\\u{1f3fb}-\\u{1f3ff}\\ufe0f]?[\\u{e0020}-\\u{e007f}]{0,6}';
const emojiOrHidden = new RegExp(`[0-9#*]\\ufe0f\\u20e3|${oneEmoji}(?:\\u200d${oneEmoji}){0,7}|${hiddenClass}`, 'gu');

/**
 * Keeps selectors, joiners and tags only in the sequences that Unicode recommends: two faces with a joiner between look like two
 * faces.
 */
function shownUnlessEmoji(match: string, show: (character: string) => string): string {
  if (match.length > 1 && isRecommendedEmoji(match)) return match;
  return match.replace(hidden, show);
}

const recommendedEmoji = '^\\p{RGI_Emoji}$';
let recommended: RegExp | undefined;

/** Building its table takes 60 ms, and most commands never need it. */
function isRecommendedEmoji(text: string): boolean {
  if (text.search(hidden) === -1) return true;
  recommended ??= new RegExp(recommendedEmoji, 'v');
  return recommended.test(text);
}

function escapeForPeople(character: string): string {
  const named = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
  if (named !== undefined) return named;
  const code = character.codePointAt(0)!;
  const digits = code.toString(16);
  return code < 0xa0 ? `\\u${digits.padStart(4, '0')}` : `\\u{${digits}}`;
}

function escapeForJson(character: string): string {
  if (character < ' ') return character;
  return [...Array(character.length).keys()]
    .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
    .join('');
}
