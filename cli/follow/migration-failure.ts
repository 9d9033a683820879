import { type JsonText, tryJson } from '../../lib/json/read.js';
import type { Reply } from '../client.js';
import type { Context } from '../context.js';
import { type CommandFailure, failure } from '../failure.js';
import { type MigrationView, viewMigration } from '../output/migration-result.js';
import { shellWord } from '../pasteable.js';
import type { RequestView } from './request-view.js';

/** Exit 3 for a failed migration; the hint says what it left behind (migrations.md section 6). */
export async function migrationFailure(
  context: Context,
  id: string,
  { envelope, request, message }: { envelope: Reply; request: RequestView; message: string },
  signal: AbortSignal,
): Promise<CommandFailure> {
  const { text } = envelope;
  const view = viewMigration(envelope.json().get('result_data'));
  const hint =
    view?.kind === 'run' ? doneHint(view, pairOf(context, request)) : await unchangedHint(context, id, request, signal);
  return failure('execution_failed', `${context.what}: ${message}`, { data: text, hint });
}

/** The failure of a lost migration: names the attempt, and says whether a resume continues after what is proven done. */
export async function lostMigration(
  context: Context,
  id: string,
  view: RequestView,
  signal: AbortSignal,
): Promise<CommandFailure> {
  const fence = (await runsOf(context, id, 1, signal))?.[0]?.get('fence')?.text;
  const attempt = fence === undefined ? 'the outcome is not known' : `attempt ${fence}`;
  const next = view.resumable
    ? `svc request resume ${id} continues after what is proven done`
    : 'it cannot be resumed: check the database, then make a new request';
  return failure('execution_lost', `${context.what}: ${attempt}: ${view.lostReason ?? 'no reason given'}`, {
    data: view.text,
    hint: `${next}; svc migrate status${pairOf(context, view)} shows what is applied`,
  });
}

/** Agents put into the error what remains of a failed migration; without such a note nothing remains. */
function doneHint({ done, direction, steps }: MigrationView & { kind: 'run' }, pair: string): string {
  const failed = steps.find(({ outcome }) => outcome === 'failed')?.version;
  const rest = failed === undefined ? '' : `; of ${failed} nothing stays but what the error names`;
  const word = direction === 'up' ? 'applied' : 'reverted';
  const before =
    done === 0
      ? `this request ${word} none before it`
      : `${done} ${done === 1 ? 'was' : 'were'} ${word} and ${done === 1 ? 'stays' : 'stay'} so`;
  return `${before}${rest}\n${failed === undefined ? '' : 'once that is set right, '}svc migrate ${direction}${pair} continues from here`;
}

/** Where the request was not made by this command, whose options name another pair or none. */
const pairOf = ({ what }: Context, { database, environment }: RequestView): string =>
  what.startsWith('migrate ') ? '' : ` -d ${shellWord(database)} -e ${shellWord(environment)}`;

/** What to say where the agents say of each run of the request that it changed nothing; else null. What a lost one did, nobody knows. */
export async function unchangedHint(
  context: Context,
  id: string,
  request: RequestView,
  signal: AbortSignal,
): Promise<string | null> {
  const runs = await runsOf(context, id, mostRuns, signal);
  if (runs === null || runs.length === mostRuns) return null;
  if (!runs.every((run) => unchanging.has(run.get('outcome')?.string() ?? ''))) return null;
  return isInTransactions(request) ? 'nothing was changed' : 'nothing was changed but what the error names';
}

/** A statement outside a transaction that fails may leave an invalid index (MI-38). */
function isInTransactions({ detail }: RequestView): boolean {
  const migrations =
    tryJson(detail ?? '')
      ?.get('migrations')
      ?.items() ?? [];
  return migrations.every((migration) => migration.get('transactional')?.text !== 'false');
}

const unchanging: ReadonlySet<string> = new Set(['rolled_back', 'not_started']);
/** The most that the server lists. */
const mostRuns = 100;

/** Newest first; null when they cannot be read: the failure is reported without them. */
async function runsOf(context: Context, id: string, limit: number, signal: AbortSignal): Promise<JsonText[] | null> {
  const path = ['api', 'requests', id, 'executions'];
  const reply = await context
    .client()
    .call({ method: 'GET', path, query: { limit }, signal })
    .catch((error: unknown) => {
      if (signal.aborted) throw error;
      return null;
    });
  return reply?.json().get('executions')?.items() ?? null;
}
