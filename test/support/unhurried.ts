const tries = 6;

/** The verdict on a long text. A busy machine may take longer than a text is given (SQ-7); the text is then judged again, a few times at most. */
export async function unhurried<V extends object>(ask: () => Promise<V>): Promise<V> {
  let verdict = await ask();
  for (let n = 1; n < tries && tookTooLong(verdict); n += 1) verdict = await ask();
  return verdict;
}

const tookTooLong = (verdict: { reason?: string }) => verdict.reason?.includes('took too long') === true;
