/** The 32 bytes of a secret key or a seed as a file or variable has it: 64 hex characters, with white space around them at most (ET-21). Null for any other text. */
export function keyOf(text: string): Uint8Array<ArrayBuffer> | null {
  const hex = text.trim();
  return /^[0-9a-f]{64}$/i.test(hex) ? Uint8Array.from(Buffer.from(hex, 'hex')) : null;
}
