import { z } from 'zod';
import { FINAL, wentWrong } from '../../../domain/request/types.js';
import { create } from './create.js';
import { follow } from './follow.js';
import { outcomeOf } from './outcome.js';
import { databaseOf, environmentOf, maybeText, reads, type Tool, text, textArgument } from './tool.js';
import { resume } from './wait-request.js';

const waitMs = 30_000;

export const migrateStatus: Tool = {
  name: 'svc_migrate_status',
  description:
    'Ask which schema migrations are applied on a database and environment. It makes a request of its own and waits up to 30 seconds for its result; where it needs approval, go on with svc_wait_request. ' +
    'For tables and columns use svc_inspect_schema, which needs no request.',
  annotations: reads,
  inputSchema: {
    type: 'object',
    properties: { database: text, environment: text, reason: { type: 'string', maxLength: 1024 } },
  },
  outputSchema: {
    type: 'object',
    properties: {
      request_id: text,
      status: text,
      applied_versions: { type: ['array', 'null'], items: text },
      result_text: maybeText,
    },
    required: ['request_id', 'status'],
  },
  async run(context, args) {
    const made = await create(context, {
      database: databaseOf(context, args),
      environment: environmentOf(context, args),
      operation: 'migrate_status',
      detail: '',
      reason: textArgument(args, 'reason'),
    });
    if (made.status === 'approved') await resume(context, made.id, 0);
    const waits = made.status !== 'pending';
    const ended = waits ? (await follow(context, made.id, { ms: waitMs, isThere: (status) => FINAL.has(status) })).request : made;
    const { outcome, sentence } = await outcomeOf(context, ended, made);
    const { request_id, status, result_text } = outcome;
    const structured = { request_id, status, applied_versions: appliedVersions(result_text), result_text };
    return { structured, sentence, isError: wentWrong(status) };
  },
};

/** The versions of a result of `migrate_status`; null where there is none. */
export function appliedVersions(result: string | null): string[] | null {
  if (result === null) return null;
  try {
    const known = z.object({ applied_versions: z.array(z.string()) }).safeParse(JSON.parse(result));
    return known.success ? known.data.applied_versions : null;
  } catch {
    return null;
  }
}
