import { type Status, wentWrong } from '../../../domain/request/types.js';
import { create } from './create.js';
import { follow } from './follow.js';
import { outcomeOf, outcomeProperties } from './outcome.js';
import { databaseOf, environmentOf, type Tool, textArgument } from './tool.js';

/** How long a request that needs no approval is awaited. */
const waitMs = 120_000;

const goesOn: ReadonlySet<Status> = new Set(['dispatched', 'running']);

export const executeQuery: Tool = {
  name: 'svc_execute_query',
  description:
    'Run one SQL statement, or several, on a database through a change request. Use it for reads and writes. A statement that needs no approval is run at once and its result comes back; any other ' +
    'waits for people to approve it: the answer then has status "pending", which is not an error; go on with svc_wait_request. Check what would happen first with svc_preflight_sql. Say in `reason` why ' +
    'the change is wanted: approvers read it. Give `_idempotency_key` to be able to repeat the call safely after a lost answer.',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  inputSchema: {
    type: 'object',
    properties: {
      sql: { type: 'string', minLength: 1, description: 'the SQL text, in the dialect of the database' },
      database: { type: 'string', description: 'default: the first database you may see' },
      environment: { type: 'string', description: 'such as production; default: as configured by the gateway' },
      reason: { type: 'string', maxLength: 1024, description: 'why; shown to the approvers' },
      require_approval: { type: 'boolean', description: 'ask for approval even if the policy would approve it automatically' },
      _idempotency_key: { type: 'string', maxLength: 200, description: 'repeats of a call with this key are the same request' },
    },
    required: ['sql'],
  },
  outputSchema: { type: 'object', properties: outcomeProperties, required: ['request_id', 'status'] },
  async run(context, args) {
    const made = await create(context, {
      database: databaseOf(context, args),
      environment: environmentOf(context, args),
      operation: 'execute_select',
      detail: textArgument(args, 'sql') ?? '',
      reason: textArgument(args, 'reason'),
      idempotency_key: textArgument(args, '_idempotency_key'),
      require_approval: args.require_approval === true ? true : undefined,
    });
    const ended = goesOn.has(made.status)
      ? (await follow(context, made.id, { ms: waitMs, isThere: (status) => !goesOn.has(status) })).request
      : made;
    const { outcome, sentence } = await outcomeOf(context, ended, made);
    return { structured: outcome, sentence, isError: wentWrong(outcome.status) };
  },
};
