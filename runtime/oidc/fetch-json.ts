const limitMs = 10_000;
const maxBytes = 1_048_576;

/** Reads the JSON of an identity provider: 10 s, 1 MiB, no redirects (IM-32). */
export async function fetchJson(url: string, withinMs = limitMs): Promise<unknown> {
  const answer = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(withinMs),
  });
  if (answer.status !== 200) throw new Error(`status ${answer.status}`);
  return JSON.parse(Buffer.from(await readBounded(answer)).toString('utf8'));
}

/** The body of a provider's answer, 1 MiB at most. */
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
