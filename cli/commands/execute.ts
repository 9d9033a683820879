import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
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
  const { what, terminal } = context;
  if (argument !== undefined && file !== undefined) throw failure('usage', `${what}: give the SQL or --file, not both`);
  if (argument === undefined && file === undefined) throw failure('usage', `${what}: no SQL is given`);
  const text =
    argument ??
    decode(
      what,
      file === '-' ? await readAll(terminal.stdin, context.signal) : readFile(what, resolve(terminal.directory, file!)),
    );
  if (text.trim() === '') throw failure('usage', `${what}: the SQL is empty`);
  return text;
}

function question(context: Context, sql: string, target: string): string {
  const lines = highlightSql(onOneLine(sql).length > 400 ? `${sql.slice(0, 400)} ...` : sql, context.output.noteStyle);
  return `${lines}\nRun this on ${context.output.noteStyle.bold(target)}?`;
}

function readFile(what: string, path: string): Uint8Array {
  try {
    return Uint8Array.from(readFileSync(path));
  } catch (error) {
    throw failure('usage', `${what}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`);
  }
}

/** The server accepts 100,000 bytes (RQ-12). Reads a little more, so that the server's own refusal names the limit. */
const maxInputBytes = 4 * 1024 * 1024;

async function readAll(stdin: Readable, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of addAbortSignal(signal, stdin)) {
      const data = Uint8Array.from(Buffer.from(chunk as string));
      bytes += data.length;
      if (bytes > maxInputBytes) throw failure('usage', 'stdin holds more than 4 MiB');
      chunks.push(data);
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
  return Uint8Array.from(Buffer.concat(chunks));
}

function decode(what: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw failure('usage', `${what}: the SQL is not UTF-8`);
  }
}
