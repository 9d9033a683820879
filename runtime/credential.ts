import type { IncomingMessage } from 'node:http';

/** The credential that a call presents. A cookie counts only for the token of a session, and that token only as a cookie (CO-13). */
export interface Credential {
  /** As it came, unchecked. */
  text: string;
  isCookie: boolean;
}

/** A value that no credential has. */
const malformed = ' ';

/** The credential in the only `Authorization` header. Null if it is missing, empty or of another scheme. Two headers count as malformed (HT-20). */
export function bearerOf({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): Credential | null {
  let value: string | null = null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== 13 || name.toLowerCase() !== 'authorization') continue;
    if (value !== null) return { text: malformed, isCookie: false };
    value = rawHeaders[index + 1] ?? '';
  }
  if (value === null || value.slice(0, 7).toLowerCase() !== 'bearer ') return null;
  const text = value.slice(7);
  return text === '' ? null : { text, isCookie: false };
}

/** The value of the only cookie of this name; two count as malformed, because nobody can tell which of them was set here. */
export function cookieOf({ headers }: Pick<IncomingMessage, 'headers'>, name: string): Credential | null {
  const start = `${name}=`;
  const [first, ...others] = (headers.cookie ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(start));
  if (first === undefined) return null;
  return { text: others.length > 0 ? malformed : first.slice(start.length), isCookie: true };
}
