/** What clients look for in a refused creation (section 7.2 of the HTTP rules): only the answers that mean it may hold it. */
const matched = /reason is required|not registered/g;
const maxLength = 500;

/** What the judge says of a text, which may quote it, as one line for an answer (HT-93, SQ-11). */
export const parserWords = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .replace(matched, '…')
    .slice(0, maxLength);
