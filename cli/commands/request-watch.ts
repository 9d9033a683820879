import type { Context } from '../context.js';
import { untilStopped } from '../follow/interruptible.js';
import { watch } from '../follow/watch.js';
import type { Answer } from '../output/output.js';
import { resolveRequestId } from '../request-id.js';

/** `svc request watch ID` (CL-35): the exit code tells the outcome; Ctrl-C and `--timeout` leave the request alone. */
export async function watchRequest(context: Context, args: readonly string[], options: { timeout?: number }): Promise<Answer> {
  const id = await resolveRequestId(context, args[0]!);
  const limits = { id, timeoutSecs: options.timeout ?? 0, again: 'watch', onInterrupt: null };
  const view = await untilStopped(context, limits, (signal) => watch(context, id, signal));
  const { output } = context;
  return { data: view.text, human: () => '', note: output.noteStyle.dim(`request ${id} executed: svc request result ${id}`) };
}
