import type { Schema } from '../../domain/mcp-arguments.js';
import { readJson } from '../../lib/json/read.js';
import { createMigration } from '../commands/migrate-create.js';
import type { Context } from '../context.js';
import { CommandFailure } from '../failure.js';
import { lookAtRequest } from '../follow/request-view.js';
import { prepareMigrations, submitMigrations } from '../migrations/prepare.js';
import { viewMigration } from '../output/migration-result.js';

interface LocalResult {
  structured: object;
  /** For people, and models: what to do next. */
  sentence?: string;
}

/** A tool that needs the files of this machine (MC-50). */
export interface LocalTool {
  name: string;
  description: string;
  annotations: object;
  inputSchema: Schema;
  outputSchema: object;
  run(work: LocalWork, args: Arguments): Promise<LocalResult>;
}

interface LocalWork {
  /** With the database and the environment of the call, and its signal. Prints nothing. */
  context: Context;
  /** Null if the client's user gives none. */
  askReason(): Promise<string | null>;
}

interface Arguments {
  count?: number;
  reason?: string;
  name?: string;
}

/** As `svc_execute_query` waits. */
const waitSecs = 120;

const text = { type: 'string' } as const;
const reason = { type: 'string', maxLength: 1024 } as const;
const target = { database: text, environment: text, reason };
const versions = { type: ['array', 'null'], items: text } as const;
const outputOf = (word: string) => ({
  type: 'object',
  properties: { request_id: text, status: text, [word]: versions },
  required: ['request_id', 'status'],
});
const changes = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };
const pendingHint =
  'It makes a change request; where people must approve it, the status is pending and svc_wait_request goes on with it.';

export const localTools: readonly LocalTool[] = [
  {
    name: 'svc_migrate_up',
    description: `Apply the migration files of this project that are not applied yet, in order. ${pendingHint}`,
    annotations: changes,
    inputSchema: { type: 'object', properties: { count: { type: 'integer', minimum: 1 }, ...target } },
    outputSchema: outputOf('applied'),
    run: (work, args) => migrate(work, 'up', args, args.count ?? null),
  },
  {
    name: 'svc_migrate_down',
    description: `Revert the migrations that were applied last, by the down parts of this project's files. ${pendingHint}`,
    annotations: changes,
    inputSchema: { type: 'object', properties: { count: { type: 'integer', minimum: 1, default: 1 }, ...target } },
    outputSchema: outputOf('reverted'),
    run: (work, args) => migrate(work, 'down', args, args.count ?? 1),
  },
  {
    name: 'svc_migrate_create',
    description: 'Create an empty migration file in this project; then write the SQL into it, below its two lines.',
    annotations: { ...changes, destructiveHint: false },
    inputSchema: {
      type: 'object',
      properties: { name: { type: 'string', pattern: '^[a-z0-9_]{1,64}$' }, database: text },
      required: ['name'],
    },
    outputSchema: { type: 'object', properties: { path: text, version: text }, required: ['path', 'version'] },
    run: async ({ context }, { name }) => {
      const made = readJson((await createMigration(context, [name ?? ''])).data);
      return { structured: { path: made.get('path')?.string(), version: made.get('version')?.string() } };
    },
  },
];

async function migrate(
  { context, askReason }: LocalWork,
  direction: 'up' | 'down',
  args: Arguments,
  maxCount: number | null,
): Promise<LocalResult> {
  const prepared = prepareMigrations(context, direction, { after: undefined, maxCount });
  const word = direction === 'up' ? 'applied' : 'reverted';
  const given = { timeout: waitSecs, ...(args.reason === undefined ? {} : { reason: args.reason }) };
  const run = (options: { timeout: number; reason?: string }) =>
    submitMigrations(context, prepared, options).then(
      ({ id, envelope }) => ({ structured: { request_id: id, status: 'executed', [word]: stepsOf(envelope) } }),
      (error: unknown) => standing(context, error, word),
    );
  try {
    return await run(given);
  } catch (error) {
    if (!(error instanceof CommandFailure) || !wantsReason(error)) throw error;
    const told = await askReason();
    if (told === null) throw error;
    return run({ ...given, reason: told });
  }
}

const wantsReason = ({ reason }: CommandFailure): boolean => reason === 'reason_required';

/** The versions of a result; null where they are not known. */
function stepsOf(envelope: string | null): string[] | null {
  const view = envelope === null ? null : viewMigration(readJson(envelope).get('result_data'));
  if (view?.kind !== 'run' || view.steps.length < view.done) return null;
  return view.steps.flatMap(({ version, outcome }) => (outcome === 'failed' ? [] : version));
}

/** A request that goes on is no failure: how it stands, and what to do. */
async function standing(context: Context, error: unknown, word: string): Promise<LocalResult> {
  if (!(error instanceof CommandFailure) || !goesOn.has(error.code)) throw error;
  const id = readJson(error.data).get('request_id')?.string();
  if (id == null) throw error;
  const { status } = await lookAtRequest(context, id, null, context.signal);
  const sentence = `${error.message.replace(/^svc_\w+: /, '')}; go on with svc_wait_request`;
  return { structured: { request_id: id, status, [word]: null }, sentence };
}

const goesOn = new Set(['pending_approval', 'approved_pending_resume', 'timeout', 'not_ready']);
