import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { databaseName, environmentName } from '../config/target.js';
import { beginsLikeRead, requireConfirmation } from '../confirmation.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { type DeliveryOptions, deliver } from '../follow/deliver.js';
import { followInterruptibly } from '../follow/interruptible.js';
import { showDuration } from '../output/instant.js';
import { type JsonText, onOneLine } from '../output/json-text.js';
import type { Answer } from '../output/output.js';
import { highlightSql } from '../output/sql.js';

export interface ExecuteOptions extends DeliveryOptions {
  file?: string;
  reason?: string;
  wait?: boolean;
  timeout?: number;
  emergency?: boolean;
  allowDdl?: boolean;
  resultStore?: boolean;
  shareWith?: string[];
  ticket?: string;
  repo?: string;
  idempotencyKey?: string;
}

/** `svc execute`: one request with its key, then what CL-21 says for its status. */
export async function execute(context: Context, args: readonly string[], options: ExecuteOptions): Promise<Answer> {
  if (options.allowDdl === true && options.emergency !== true) throw failure('usage', 'execute: --allow-ddl needs --emergency');
  const sql = await readStatement(context, args[0], options.file);
  const database = databaseName(context.layers(), context.options);
  const environment = environmentName(context.layers(), context.options);
  context.client();
  if (!beginsLikeRead(sql)) await requireConfirmation(context, question(context, sql, `${database}/${environment}`));
  const startedAt = context.terminal.now();
  const created = await create(context, bodyOf(sql, database, environment, options), options);
  const id = created.get('id')?.string();
  const status = created.get('status')?.string();
  if (id == null || status == null) throw failure('server_error', 'execute: the answer names no request');
  const task = {
    id,
    status,
    approvers:
      created
        .get('approvers')
        ?.items()
        .flatMap((item) => item.string() ?? []) ?? [],
    waitForApproval: options.wait === true,
    resume: options.wait === true,
    resumeAfterTimeout: true,
  };
  const followed = await followInterruptibly(context, task, options.timeout ?? 0);
  const took = showDuration(context.terminal.now() - startedAt);
  return deliver(context, followed, options, context.output.noteStyle.dim(`request ${id} executed in ${took}`));
}

/** The SQL of the argument or the file, `-` for stdin; text that is empty or not UTF-8 is a usage error. */
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

interface CreateBody {
  database: string;
  environment: string;
  detail: string;
  idempotency_key: string;
}

function bodyOf(sql: string, database: string, environment: string, options: ExecuteOptions): CreateBody {
  const metadata = {
    ...(options.ticket === undefined ? {} : { ticket: options.ticket }),
    ...(options.repo === undefined ? {} : { repo: options.repo }),
  };
  return {
    database,
    environment,
    detail: sql,
    idempotency_key: options.idempotencyKey ?? randomUUID(),
    ...(options.reason === undefined ? {} : { reason: options.reason }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(options.emergency === true ? { emergency: true } : {}),
    ...(options.allowDdl === true ? { allow_ddl: true } : {}),
    ...(options.resultStore === false ? { no_result_store: true } : {}),
    ...(options.shareWith === undefined ? {} : { share_with: options.shareWith }),
  };
}

/** While nobody knows whether the request exists, the hint names the key that finds or makes it (CL-26, CL-I4). */
async function create(context: Context, body: CreateBody, options: ExecuteOptions): Promise<JsonText> {
  try {
    const reply = await context
      .client()
      .call({ method: 'POST', path: ['api', 'requests'], body: JSON.stringify(body), repeatable: true });
    return reply.json();
  } catch (error) {
    if (!(error instanceof CommandFailure) || !['interrupted', 'network_error'].includes(error.code)) throw error;
    const unknown = options.idempotencyKey === undefined ? 'the request may exist; ' : '';
    const hint = `${unknown}repeat the command with --idempotency-key ${body.idempotency_key}`;
    throw new CommandFailure(error.code, error.message, {
      hint: error.hint === null ? hint : `${error.hint}\n${hint}`,
      exit: error.exit,
      data: error.data,
    });
  }
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

/** The server takes 100,000 bytes (RQ-12); a little more is read so that its own refusal names the limit. */
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
