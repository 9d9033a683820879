import { visible as visibleInSql, visibleLines } from '../../lib/visible.js';
import type { Dialect } from '../statement.js';

/**
 * Text of users and databases for Slack's markup, so that it is read as it is and stands only where it was put. Slack ends markup at no other sign than its
 * own: a name in bold, a link, a mention, an emoji or a line that looks like one of ours would be taken for the gateway's word.
 */

/** One line, in a code span, in which Slack reads no markup but the three escapes. At most `limit` characters, with `…` behind it when there are more. */
export function codeSpan(text: string, limit: number): string {
  const [kept, more] = cut(lineOf(text), limit);
  return `\`${quoted(kept)}\`${more}`;
}

/** Several lines, without empty ones, which would push the rest out of sight. */
export function codeBlock(text: string, limit: number): string {
  const [kept, more] = cut(filledLines(text, lineEnd, limit).join('\n'), limit);
  return `\`\`\`${quoted(visible(kept))}\`\`\`${more}`;
}

/**
 * The same for SQL. A database ends a comment at fewer characters than Slack ends a line, and `'paid'` with an invisible character is another value: all
 * that is hidden is shown by number (HD-61).
 */
export function sqlBlock(text: string, limit: number): string {
  const lines = filledLines(text, /\r?\n/, limit).map((line) => visibleInSql(line.replaceAll('\t', '  ')));
  const [kept, more] = cut(lines.join('\n'), limit);
  return `\`\`\`${quoted(kept)}\`\`\`${more}`;
}

function filledLines(text: string, ends: RegExp, limit: number): string[] {
  const lines: string[] = [];
  let length = 0;
  for (const line of text.split(ends)) {
    if (line.trim() === '') continue;
    lines.push(line);
    length += line.length;
    if (length > 2 * limit) break;
  }
  return lines;
}

/** A name, which can hold no markup but the three escapes. */
export function plainLine(text: string, limit: number): string {
  const [kept, more] = cut(lineOf(text), limit);
  return `${quoted(kept)}${more}`;
}

/** `text` is markup already, as `plainLine` makes it; without an address of `requestUrl` it stands alone. */
export const linkTo = (url: string | null, text: string) => (url === null ? text : `<${url}|${text}>`);

/** The first `limit` characters, for a block without markup. */
export function startOf(text: string, limit: number): { text: string; isCut: boolean } {
  const [kept, more] = cut(text, limit);
  return { text: visible(kept.replace(/\r\n?/g, '\n')), isCut: more !== '' };
}

/** The same as one text, with `…` in place of what is left out. */
export function shortened(text: string, limit: number): string {
  const start = startOf(text, limit - 1);
  return start.isCut ? `${start.text}…` : start.text;
}

/** The same for SQL, as in `sqlBlock`. A lone carriage return ends a comment of PostgreSQL, but none of MySQL. */
export function startOfSql(text: string, limit: number, dialect: Dialect | null): { text: string; isCut: boolean } {
  const [kept, more] = cut(text, limit);
  const [shown, beyond] = cut(visibleLines(dialect === 'mysql' ? kept : kept.replace(/\r\n?/g, '\n')), limit);
  return { text: shown, isCut: more !== '' || beyond !== '' };
}

const lineEnd = /\r\n?|[\n\u0085\u2028\u2029]/;

/** One line of a block without markup: no name in it begins another. */
export const lineOf = (text: string) => visible(text.split(lineEnd).join(' ')).replace(/\s+/g, ' ').trim();

/** Whole characters, not halves of them. */
function cut(text: string, limit: number): [kept: string, more: string] {
  const characters = Array.from(text.slice(0, 2 * limit + 2));
  return characters.length > limit ? [characters.slice(0, limit).join(''), '…'] : [text, ''];
}

/** A backtick would end the code. Escaped once it was cut, so that no escape is. */
const quoted = (text: string) => escaped(text.replaceAll('`', "'"));

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Characters that are invisible or reorder others become visible marks. Emojis and some scripts need the two joiners. */
const visible = (text: string) => text.replace(/(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/gu, '\ufffd');
