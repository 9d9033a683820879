import { showDuration } from '../../lib/duration.js';
import { type JsonText, onOneLine } from '../../lib/json/read.js';
import { databaseName, environmentName } from '../config/target.js';
import { beginsLikeRead, requireAnswer, requireConfirmation } from '../confirmation.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { checkOutput, type DeliveryOptions, deliver } from '../follow/deliver.js';
import { checkSubmitOptions, type SubmitOptions, submit } from '../follow/submit.js';
import { type Looked, lookFirst } from '../look-first.js';
import { saysYes } from '../options.js';
import { whyBlocked } from '../output/findings.js';
import type { Answer } from '../output/output.js';
import { lookLines } from '../output/preflight-parts.js';
import { highlightSql } from '../output/sql.js';
import { readInput } from '../read-input.js';

export interface ExecuteOptions extends DeliveryOptions, SubmitOptions {
  file?: string;
  allowDdl?: boolean;
  preflight?: boolean;
}

/** `svc execute`: a preflight and a question (CL-18, CL-19), one request with its key, then what CL-21 says for its status. */
export async function execute(context: Context, args: readonly string[], options: ExecuteOptions): Promise<Answer> {
  if (options.allowDdl === true && options.emergency !== true) throw failure('usage', 'execute: --allow-ddl needs --emergency');
  checkSubmitOptions(context, options);
  checkOutput(context, options);
  const sql = await readStatement(context, args[0], options.file);
  const database = databaseName(context.layers(), context.options);
  const environment = environmentName(context.layers(), context.options);
  context.client();
  await checkFirst(context, { database, environment, sql }, options);
  const startedAt = context.terminal.now();
  const content = { database, environment, detail: sql, ...(options.allowDdl === true ? { allow_ddl: true } : {}) };
  return deliver(context, submit(context, content, options), options, ({ id, isFound }) => {
    const took = showDuration(context.terminal.now() - startedAt);
    // A time would look like that of a second run.
    const how = isFound === true ? '; found by its idempotency key, not run again' : ` in ${took}`;
    return context.output.noteStyle.dim(`request ${id} executed${how}`);
  });
}

/** The SQL of the argument or the file, `-` for stdin, which is also read when it is a pipe; empty or non-UTF-8 text is a usage error. */
export async function readStatement(context: Context, argument: string | undefined, file: string | undefined): Promise<string> {
  const { what, terminal } = context;
  if (argument !== undefined && file !== undefined) throw failure('usage', `${what}: give the SQL or --file, not both`);
  const isPiped = argument === '-' || (argument === undefined && file === undefined && terminal.stdin.isTTY !== true);
  const source = isPiped ? '-' : file;
  if (argument === undefined && source === undefined) throw noSql(what);
  const text = source === undefined ? argument! : decode(what, await readInput(context, source));
  if (text.trim() !== '') return text;
  throw isPiped && argument === undefined ? noSql(what) : failure('usage', `${what}: the SQL is empty`);
}

const noSql = (what: string) =>
  failure('usage', `${what}: no SQL is given`, { hint: `svc ${what} 'select 1', or --file query.sql, or pipe it in` });

/**
 * The preflight and the question. There is no preflight for an emergency, which has no time for it, nor with a key: the request of that key may have run
 * before and dropped the tables that it names. What a preflight finds wrong is said before `--yes` is asked for.
 */
async function checkFirst(context: Context, content: Looked, options: ExecuteOptions): Promise<void> {
  const isAsked = !beginsLikeRead(content.sql);
  const isLooked = options.preflight !== false && options.emergency !== true && options.idempotencyKey === undefined;
  if (isAsked && !isLooked) requireAnswer(context);
  const looked = isLooked ? await lookFirst(context, content) : null;
  if (!isAsked) return;
  const status = looked?.get('status')?.string();
  if (status !== undefined && status !== 'blocked' && looked?.get('classification')?.get('mutating')?.text === 'false') return;
  // With --yes the creation refuses it in its own words.
  if (looked !== null && status === 'blocked' && !saysYes(context.options, context.terminal.environment))
    throw failure('blocked', `${context.what}: blocked: ${whyBlocked(looked)}`, {
      hint: 'nothing was sent; svc preflight shows more',
    });
  await requireConfirmation(context, question(context, content, looked, options.ask === true));
}

function question(
  { output }: Context,
  { database, environment, sql }: Looked,
  looked: JsonText | null,
  isAsked: boolean,
): string {
  const { noteStyle: style } = output;
  const text = highlightSql(onOneLine(sql).length > 400 ? `${sql.slice(0, 400)} ...` : sql, style);
  const told = looked === null ? [] : lookLines(looked, style, isAsked);
  return [text, ...told, `Run this on ${style.bold(`${database}/${environment}`)}?`].join('\n');
}

function decode(what: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw failure('usage', `${what}: the SQL is not UTF-8`);
  }
}
