const maxBytes = 1_048_576;

/** The body of another server's answer, 1 MiB at most. */
export async function readBounded(answer: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error('the answer is larger than 1 MiB');
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}
