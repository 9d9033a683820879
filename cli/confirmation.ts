import type { Context } from './context.js';
import { failure } from './failure.js';
import { saysYes } from './options.js';
import { confirm } from './prompt.js';
import { isInteractive } from './terminal.js';

/** Asks before it goes on; without `--yes` and without somebody to ask it fails with `confirmation_required` (CL-18). */
export async function requireConfirmation(context: Context, question: string, why?: string): Promise<void> {
  const { terminal, what } = context;
  requireAnswer(context, why);
  if (!willAsk(context)) return;
  if (!(await confirm(terminal, question, context.signal)))
    throw failure('confirmation_required', `${what}: not confirmed; nothing was done`);
}

/** Fails where nobody can answer the question to come, before anything is sent (CL-18). */
export function requireAnswer({ terminal, output, options, what }: Context, why = 'this may change data'): void {
  if (saysYes(options, terminal.environment) || (output.mode === 'human' && isInteractive(terminal))) return;
  throw failure('confirmation_required', `${what}: ${why}`, { hint: 'add --yes to run it without asking' });
}

/** Asks where a person is there to answer. Elsewhere, and with `--yes`, the command itself is the decision. */
export async function confirmOnTerminal(context: Context, question: string): Promise<void> {
  if (willAsk(context)) await requireConfirmation(context, question);
}

/** Whether a person will be asked. */
export function willAsk({ terminal, output, options }: Context): boolean {
  return output.mode === 'human' && isInteractive(terminal) && !saysYes(options, terminal.environment);
}

/** Whether a text begins like a read, so that `execute` does not ask; the server decides what it really is (CL-18). */
export function beginsLikeRead(sql: string): boolean {
  const text = sql.replace(/^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/, '');
  if (/^(?:SELECT|VALUES|TABLE|SHOW|DESCRIBE)\b/i.test(text)) return true;
  return /^EXPLAIN\b/i.test(text) && !/\banaly[sz]e\b/i.test(text);
}
