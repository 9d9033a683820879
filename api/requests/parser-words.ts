/** Clients look for these phrases in a refused creation (http.md section 7.2), so quoted text must not contain them. */
const matched = /reason is required|not registered/g;
const maxLength = 500;

/** The classifier's message, which may quote the SQL, as one line (HT-93, SQ-11). */
export const parserWords = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .replace(matched, '…')
    .slice(0, maxLength);
