import { within } from '../../lib/deadline.js';
import { type Reply, reply, stream } from '../http/reply.js';

/** Every answer begins within 25 s (HT-131). */
const beginMs = 15_000;
const stillThereMs = 5000;

/**
 * Answers 200 with the value. An answer that takes long begins with blanks, which JSON allows, so that no proxy takes the connection for dead. If the
 * work fails after that, the connection breaks.
 */
export async function patiently(work: Promise<unknown>, times = { beginMs, stillThereMs }): Promise<Reply> {
  const settled = work.then((value) => ({ value }));
  const early = await within(settled, times.beginMs, null);
  return early === null ? stream('application/json; charset=utf-8', later(settled, times.stillThereMs)) : reply(200, early.value);
}

async function* later(settled: Promise<{ value: unknown }>, everyMs: number): AsyncGenerator<string> {
  for (;;) {
    yield ' ';
    const done = await within(settled, everyMs, null);
    if (done === null) continue;
    yield JSON.stringify(done.value);
    return;
  }
}
