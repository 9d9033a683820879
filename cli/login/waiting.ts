import { showDuration } from '../../lib/duration.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { cutToWidth } from '../output/width.js';
import { canRedraw } from '../terminal.js';

/** Prints what the person has to do. In `json` too, on stderr, because nobody could go on without it; `quiet` may not. */
export function tell({ terminal, output, what }: Context, lines: readonly string[]): void {
  if (output.mode === 'quiet')
    throw failure('usage', `${what}: --format quiet cannot show the address to open`, { hint: '--json shows it on stderr' });
  terminal.stderr.write(lines.map((line) => `${line}\n`).join(''));
}

/** Runs `work` with a signal that also aborts when the time is over, and shows how long it still waits (CL-40, CL-41). */
export async function waitingFor<T>(
  context: Context,
  whom: string,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const endsAt = context.terminal.now() + ms;
  const late = failure('timeout', `${context.what}: nobody logged in within ${showDuration(ms)}`, { hint: 'svc login' });
  const timer = setTimeout(() => over.abort(late), ms);
  const onAbort = () => over.abort(context.signal.reason);
  if (context.signal.aborted) onAbort();
  else context.signal.addEventListener('abort', onAbort, { once: true });
  const stop = showProgress(context, whom, endsAt);
  try {
    return await work(over.signal);
  } catch (error) {
    // The reason of the end counts, not the error of the call that it cut off.
    throw over.signal.aborted && over.signal.reason instanceof CommandFailure ? over.signal.reason : error;
  } finally {
    clearTimeout(timer);
    context.signal.removeEventListener('abort', onAbort);
    stop();
  }
}

/** On a terminal one redrawn line, elsewhere a line every 30 s; only for people. */
function showProgress({ terminal, output }: Context, whom: string, endsAt: number): () => void {
  if (output.mode !== 'human') return () => undefined;
  const { stderr, now, limits } = terminal;
  const isDrawn = canRedraw(terminal);
  const text = () => `waiting for ${whom}, ${showDuration(endsAt - now())} left; Ctrl-C ends`;
  const draw = () => {
    if (!isDrawn) return output.note(text());
    stderr.write(`\r\u001b[2K${cutToWidth(text(), (stderr.columns || 80) - 1)}`);
  };
  if (isDrawn) draw();
  const timer = setInterval(draw, isDrawn ? 1_000 : limits.progressRepeatMs);
  return () => {
    clearInterval(timer);
    if (isDrawn) stderr.write('\r\u001b[2K');
  };
}
