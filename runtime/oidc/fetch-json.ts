import { readBounded } from '../read-bounded.js';

const limitMs = 10_000;

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
