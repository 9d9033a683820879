import { randomUUID } from 'node:crypto';
import type { JsonText } from '../../lib/json/read.js';
import { isUuid } from '../../lib/uuid.js';
import type { Context } from '../context.js';
import { CommandFailure, failure, noOutcome } from '../failure.js';
import { warnOf } from '../output/warnings.js';
import { followInterruptibly } from './interruptible.js';
import type { Followed } from './outcome.js';

/** Options of every command that creates a request. */
export interface SubmitOptions {
  reason?: string;
  wait?: boolean;
  timeout?: number;
  emergency?: boolean;
  ask?: boolean;
  resultStore?: boolean;
  shareWith?: string[];
  ticket?: string;
  repo?: string;
  idempotencyKey?: string;
}

/** The content of a request; without `operation` the server classifies the SQL. */
export interface Content {
  database: string;
  environment: string;
  operation?: string;
  detail: string;
  allow_ddl?: boolean;
}

/** Refuses options that exclude each other, and SQL that was taken for an option's value, before any question. */
export function checkSubmitOptions({ what }: Context, { ask, emergency, shareWith = [] }: SubmitOptions): void {
  if (ask === true && emergency === true) throw failure('usage', `${what}: --ask and --emergency cannot be used together`);
  const noId = shareWith.find((one) => /\s/.test(one));
  if (noId !== undefined)
    throw failure('usage', `${what}: --share-with takes ids, not '${noId}'`, {
      hint: 'put SQL before --share-with, or after --',
    });
}

/** Creates one request with its key (CL-20), then does what CL-21 says for its status. */
export async function submit(context: Context, content: Content, options: SubmitOptions): Promise<Followed> {
  const created = await create(context, { ...content, ...bodyOf(options) }, options);
  const id = created.get('id')?.string();
  const status = created.get('status')?.string();
  if (id == null || !isUuid(id) || status == null)
    throw failure('server_error', `${context.what}: the server's answer has no request id`);
  const approvers = created.get('approvers')?.items() ?? [];
  const waits = options.wait === true;
  const task = {
    id,
    status,
    waitForApproval: waits,
    resume: waits,
    resumeAfterTimeout: true,
    approvers: approvers.flatMap((item) => item.string() ?? []),
    offersCancel: content.operation !== 'migrate_status',
  };
  const followed = await followInterruptibly(context, task, options.timeout ?? 0);
  return { ...followed, isFound: options.idempotencyKey !== undefined && created.get('idempotent')?.text === 'true' };
}

function bodyOf(options: SubmitOptions) {
  const metadata = {
    ...(options.ticket === undefined ? {} : { ticket: options.ticket }),
    ...(options.repo === undefined ? {} : { repo: options.repo }),
  };
  return {
    idempotency_key: options.idempotencyKey ?? randomUUID(),
    ...(options.reason === undefined ? {} : { reason: options.reason }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(options.emergency === true ? { emergency: true } : {}),
    ...(options.ask === true ? { require_approval: true } : {}),
    ...(options.resultStore === false ? { no_result_store: true } : {}),
    ...(options.shareWith === undefined ? {} : { share_with: options.shareWith }),
  };
}

/** What leaves open whether the request was made: a proxy or a server that fails may do so after the commit. */
const saysNothing: ReadonlySet<string> = new Set(['interrupted', ...noOutcome]);

/** While it is unknown whether the request exists, the hint names the key that finds or creates it (CL-26, CL-I4). */
async function create(context: Context, body: Content & { idempotency_key: string }, options: SubmitOptions): Promise<JsonText> {
  try {
    const reply = await context
      .client()
      .call({ method: 'POST', path: ['api', 'requests'], body: JSON.stringify(body), repeatable: true });
    const created = reply.json();
    warnOf(context, created);
    return created;
  } catch (error) {
    if (!(error instanceof CommandFailure) || !saysNothing.has(error.code)) throw error;
    const unknown = options.idempotencyKey === undefined ? 'the request may exist; ' : '';
    const hint = `${unknown}repeat the command with --idempotency-key ${body.idempotency_key}`;
    throw new CommandFailure(error.code, error.message, {
      hint: error.hint === null ? hint : `${error.hint}\n${hint}`,
      exit: error.exit,
      data: error.data,
    });
  }
}
