import { visible } from '../../lib/visible.js';
import { databaseName, environmentName } from '../config/target.js';
import type { CommandCall, Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import type { Answer } from '../output/output.js';
import { createCompletion } from '../shell/completion.js';
import { openHistory } from '../shell/history.js';
import { Input, type Item } from '../shell/input.js';
import { cancelled, createLineReader } from '../shell/lines.js';
import type { Lexis } from '../shell/statements.js';
import { isInteractive } from '../terminal.js';
import { type ExecuteOptions, readStatement } from './execute.js';

/**
 * `svc shell` (CL-53): each statement is one `svc execute`. On a terminal a prompt; else the statements of the input, until one does
 * not succeed.
 */
export async function shell(context: Context, _: readonly string[], options: ExecuteOptions): Promise<Answer> {
  const { output, terminal, what } = context;
  if (output.mode !== 'human') throw failure('usage', `${what}: it takes no --json or --format; use svc execute`);
  const database = databaseName(context.layers(), context.options);
  const environment = environmentName(context.layers(), context.options);
  const place = { database, environment };
  const input = new Input(await lexisOf(context, place));
  const run = runnerOf(context, { ...options, ...context.options, ...place });
  const exit = isInteractive(terminal) ? await talk(context, place, input, run) : await readAll(context, input, run);
  return { data: 'null', human: () => '', exit };
}

interface Place {
  database: string;
  environment: string;
}

/** The exit code of what was typed; null is the end. */
type RunItem = (item: Item) => Promise<number | null>;

function runnerOf(context: Context, options: CommandCall['options']): RunItem {
  const schema = (more: object) =>
    context.runOther({
      what: 'schema',
      args: [],
      options: { ...options, ...more },
      load: async () => (await import('./schema.js')).showSchema,
    });
  return async (item) => {
    if (item.kind === 'statement')
      return context.runOther({
        what: 'execute',
        args: [item.sql],
        options: { ...options },
        load: async () => (await import('./execute.js')).execute,
      });
    const [command, table, ...more] = item.words;
    if (command === '\\q') return null;
    if (command === '\\dt' && table === undefined) return schema({});
    if (command === '\\d' && more.length === 0)
      return schema(table === undefined ? { full: true } : { table: table.replace(/;$/, '') });
    context.output.note(command === '\\?' ? help : `${visible(item.words.join(' '))} is not a command\n${help}`);
    return command === '\\?' ? 0 : 2;
  };
}

const help = `  SQL ;      make a request of it and run it, or wait for approval with --wait
  \\dt        list the tables, as the agent last saw them
  \\d TABLE   show one table; \\d shows all of them
  \\q         leave; Ctrl-D too
A line that begins with a blank is not kept in the history.`;

/** The prompt. What follows a statement that did not succeed on its line, or in what was pasted, is not run. */
async function talk(context: Context, { database, environment }: Place, input: Input, run: RunItem): Promise<number> {
  const { terminal, output, signal } = context;
  const history = openHistory(context);
  const reader = createLineReader(terminal, createCompletion(context, database, environment), signal);
  const prompt = `${visible(`${database}/${environment}`)}=> `;
  const typed: string[] = [];
  output.note(output.noteStyle.dim('Each statement that ends with ; is one request. \\? for help, \\q to leave.'));
  for (;;) {
    const line = await reader.next(input.isEmpty ? prompt : '-> '.padStart(prompt.length), history.lines);
    signal.throwIfAborted();
    if (line === null) return leave(context);
    if (line === cancelled) {
      input.clear();
      typed.length = 0;
      continue;
    }
    typed.push(line);
    const items = added(context, input, input.isEmpty ? asCommand(line) : line);
    if (input.isEmpty) history.add(typed.splice(0));
    const { code, left } = await runAll(items, run);
    if (code === null) return 0;
    if (code === 0) continue;
    const isPasted = reader.drop();
    if (left > 0 || isPasted || !input.isEmpty) {
      input.clear();
      typed.length = 0;
      output.note('the rest of the input was not run');
    }
  }
}

/** No statement begins with these words, which psql and mysql take at an empty prompt. */
const asCommand = (line: string): string => spoken.get(line.trim().replace(/\s*;$/, '').toLowerCase()) ?? line;

const spoken: ReadonlyMap<string, string> = new Map([
  ['exit', '\\q'],
  ['quit', '\\q'],
  ['help', '\\?'],
]);

function added({ output, what }: Context, input: Input, line: string): Item[] {
  try {
    return input.add(line);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    output.note(`${what}: ${error.message}`);
    return [];
  }
}

/** Ctrl-D leaves the prompt where it is. */
function leave({ terminal }: Context): number {
  terminal.stderr.write('\n');
  return 0;
}

/** The first exit code other than 0, null when the shell is to end, and how many items are left. */
async function runAll(items: readonly Item[], run: RunItem): Promise<{ code: number | null; left: number }> {
  for (const [index, item] of items.entries()) {
    const code = await run(item);
    if (code !== 0) return { code, left: items.length - index - 1 };
  }
  return { code: 0, left: 0 };
}

/** The statements of a pipe, one after the other. */
async function readAll(context: Context, input: Input, run: RunItem): Promise<number> {
  const { what, output } = context;
  const lines = (await readStatement(context, '-', undefined)).split(/\r?\n/);
  const stops = async (items: readonly Item[], line: number) => {
    const { code } = await runAll(items, run);
    if (code) output.note(`stopped at the statement that ends in line ${line} of the input; nothing after it was run`);
    return code;
  };
  let code: number | null = 0;
  for (const [index, line] of lines.entries()) {
    try {
      code = await stops(input.add(line), index + 1);
    } catch (error) {
      throw error instanceof RangeError ? failure('usage', `${what}: ${error.message}`) : error;
    }
    if (code !== 0) return code ?? 0;
  }
  code = await stops(input.end(), lines.findLastIndex((line) => line.trim() !== '') + 1);
  if (code === 0 && input.open !== null)
    throw failure('usage', `${what}: the last statement ends within a ${input.open}; it was not run`);
  return code ?? 0;
}

/** How the database reads quotes and comments; as PostgreSQL where the server does not tell. */
async function lexisOf(context: Context, { database, environment }: Place): Promise<Lexis> {
  try {
    const reply = await context.client().call({ method: 'GET', path: ['api', 'databases'] });
    const pair = (reply.json().get('databases')?.items() ?? []).find(
      (one) => one.get('database')?.string() === database && one.get('environment')?.string() === environment,
    );
    return /mysql|mariadb/.test(pair?.get('dialect')?.string() ?? '') ? 'mysql' : 'postgresql';
  } catch (error) {
    if (error instanceof CommandFailure && error.code === 'auth.forbidden') return 'postgresql';
    throw error;
  }
}
