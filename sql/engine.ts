import { judgeText } from './judge-text.js';
import { loadParser, type Parser } from './parser.js';
import { redactText } from './redact-text.js';
import type { Dialect, JudgeOptions, Verdict } from './verdict.js';

/** What can be asked about a text; plain data, so that it crosses to a thread. */
export type Task =
  | { readonly kind: 'judge'; readonly text: string; readonly options: JudgeOptions }
  | { readonly kind: 'redact'; readonly text: string; readonly dialect: Dialect | null };
export type Answer = Verdict | string;

/** Runs tasks on this thread; a parser that a text broke or blew up is replaced before the next one (SQ-I6). */
export async function createEngine(): Promise<(task: Task) => Promise<Answer>> {
  let parser = await loadParser();
  let loading: Promise<Parser> | null = null;
  return async (task) => {
    while (!parser.healthy) {
      loading ??= loadParser().finally(() => {
        loading = null;
      });
      parser = await loading;
    }
    return task.kind === 'judge' ? judgeText(parser, task.text, task.options) : redactText(parser, task.text, task.dialect);
  };
}
