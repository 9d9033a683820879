import { onOneLine } from '../../lib/json/read.js';
import { databaseName, environmentName } from '../config/target.js';
import { beginsLikeRead, requireConfirmation } from '../confirmation.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { type DeliveryOptions, deliver } from '../follow/deliver.js';
import { checkSubmitOptions, type SubmitOptions, submit } from '../follow/submit.js';
import { showDuration } from '../output/instant.js';
import type { Answer } from '../output/output.js';
import { highlightSql } from '../output/sql.js';
import { readInput } from '../read-input.js';

export interface ExecuteOptions extends DeliveryOptions, SubmitOptions {
  file?: string;
  allowDdl?: boolean;
}

/** `svc execute`: one request with its key, then what CL-21 says for its status. */
export async function execute(context: Context, args: readonly string[], options: ExecuteOptions): Promise<Answer> {
  if (options.allowDdl === true && options.emergency !== true) throw failure('usage', 'execute: --allow-ddl needs --emergency');
  checkSubmitOptions(context, options);
  const sql = await readStatement(context, args[0], options.file);
  const database = databaseName(context.layers(), context.options);
  const environment = environmentName(context.layers(), context.options);
  context.client();
  if (!beginsLikeRead(sql)) await requireConfirmation(context, question(context, sql, `${database}/${environment}`));
  const startedAt = context.terminal.now();
  const content = { database, environment, detail: sql, ...(options.allowDdl === true ? { allow_ddl: true } : {}) };
  return deliver(context, submit(context, content, options), options, (id) =>
    context.output.noteStyle.dim(`request ${id} executed in ${showDuration(context.terminal.now() - startedAt)}`),
  );
}

/** The SQL of the argument or the file, `-` for stdin; empty or non-UTF-8 text is a usage error. */
export async function readStatement(context: Context, argument: string | undefined, file: string | undefined): Promise<string> {
  const { what } = context;
  if (argument !== undefined && file !== undefined) throw failure('usage', `${what}: give the SQL or --file, not both`);
  if (argument === undefined && file === undefined) throw failure('usage', `${what}: no SQL is given`);
  const text = argument ?? decode(what, await readInput(context, file!));
  if (text.trim() === '') throw failure('usage', `${what}: the SQL is empty`);
  return text;
}

function question(context: Context, sql: string, target: string): string {
  const lines = highlightSql(onOneLine(sql).length > 400 ? `${sql.slice(0, 400)} ...` : sql, context.output.noteStyle);
  return `${lines}\nRun this on ${context.output.noteStyle.bold(target)}?`;
}

function decode(what: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw failure('usage', `${what}: the SQL is not UTF-8`);
  }
}
