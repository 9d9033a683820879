export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

export const utf8Length = (text: string): number => utf8(text).length;

/** The longest start of the text with at most `limit` bytes in UTF-8, cut between characters. */
export function cutBytes(text: string, limit: number): string {
  if (text.length * 3 <= limit) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(limit));
  return text.slice(0, read);
}
