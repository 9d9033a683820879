import { z } from 'zod';
import { sha256Hex } from '../../crypto/hash.js';
import type { FoundExecution } from '../../db/executions.js';
import { invalid } from '../../domain/errors.js';
import { readSteps, type Steps, toldSteps } from '../../domain/migration/steps.js';
import { otherFence } from '../../domain/request/judge-result.js';
import type { MarkerMismatch, Submission } from '../../domain/request/moves.js';
import type { Outcome } from '../../domain/request/types.js';
import { memberText } from '../../lib/json/member.js';
import { objectText } from '../../lib/json/write.js';
import { cutBytes } from '../../lib/utf8.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { auditError } from '../requests/redaction.js';

const OUTCOMES = [
  'committed',
  'already_applied',
  'rolled_back',
  'not_started',
  'partial',
  'unknown',
] as const satisfies Outcome[];
const succeeded: ReadonlySet<Outcome> = new Set(['committed', 'already_applied']);
const maxErrorBytes = 4096;
const maxFence = 2_147_483_647;
// A number that JSON.parse has rounded is still a count: the outcome of the SQL is never lost for it (AG-50a).
const count = z.number().refine((value) => Number.isInteger(value) && value >= 0, 'must be an integer of at least 0');

/** A marker row that the agent cannot match with an attempt (HD-41). */
const markerMismatch = z.object({
  fence: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  execution_id: z.string().max(64),
  step: z.string().max(255).default(''),
  state: z.string().max(64).default(''),
});

/** The body of `POST /api/agent/jobs/{execution id}/result` (agent.md section 6). */
export const resultBody = z.object({
  success: z.boolean(),
  result_data: z.string().nullish(),
  error_message: z.string().nullish(),
  rows_affected: count.nullish(),
  duration_ms: count.nullish(),
  truncated: z.boolean().nullish(),
  total_rows: count.nullish(),
  fence: count.nullish(),
  outcome: z.enum(OUTCOMES).nullish(),
  applied_fence: z.number().int().min(0).max(maxFence).nullish(),
  applied_execution_id: z.guid().nullish(),
  marker_mismatches: z.array(markerMismatch).max(20).nullish(),
  cancelled: z.boolean().nullish(),
});

export type ResultBody = z.output<typeof resultBody>;
export type ResultCall = Call<{ id: string }, undefined, ResultBody>;

/** What was submitted, and the text that is to be kept of it, in UTF-8. */
export interface Submitted {
  submission: Submission;
  data: Uint8Array | null;
  /** The agent is told 413 (AG-47). */
  tooLarge: boolean;
}

/** The submission as rules judge it, with the size rule applied (AG-47, RS-55): too large is told apart by `tooLarge`. */
export function readSubmission(
  { body, bodyBytes, taken: sent }: Pick<ResultCall, 'body' | 'bodyBytes' | 'taken'>,
  execution: FoundExecution,
  services: Services,
  attempts: readonly { fence: number; id: string }[] = [],
): Submitted {
  // Of a failure only what tells of applied migrations is kept (RS-13); where a part of the first one stays, the list is empty and names it.
  const steps = stepsOf(execution.operation, sent);
  const isPartial = steps !== null && (steps.count > 0 || body.outcome === 'partial');
  const data = body.success || isPartial ? sent : null;
  const outcome = body.outcome ?? (body.success ? 'committed' : data === null ? 'rolled_back' : 'partial');
  if (succeeded.has(outcome) !== body.success) throw invalid(`outcome ${outcome} contradicts success`, 'body.outcome');
  // Also judged under the lock; here it keeps the data of a refused call out of the store, which takes one text per execution.
  if (body.fence != null && body.fence !== execution.fence) throw otherFence();
  const errorMessage = body.error_message == null ? null : cutBytes(wellFormed(body.error_message), maxErrorBytes);
  const rowsAffected = body.rows_affected == null ? null : exactDigits(body.rows_affected, bodyBytes);
  const submission: Submission = {
    success: body.success,
    outcome,
    fence: body.fence ?? null,
    cancelled: body.cancelled ?? null,
    appliedFence: body.applied_fence ?? null,
    appliedExecutionId: body.applied_execution_id ?? null,
    markerMismatches: strangers(body.marker_mismatches ?? [], attempts),
    rowsAffected,
    durationMs: body.duration_ms == null ? null : Math.min(body.duration_ms, Number.MAX_SAFE_INTEGER),
    truncated: body.truncated ?? null,
    errorMessage: body.success ? null : (errorMessage ?? 'the agent gave no reason'),
    kept: data === null ? 'empty' : 'object',
    // The hash of the data stands for it: a copy of it with escapes would be the largest thing in memory.
    text: sha256Hex(
      JSON.stringify([
        body.success,
        sent === null ? null : sha256Hex(sent),
        errorMessage,
        rowsAffected,
        outcome,
        body.cancelled ?? null,
      ]),
    ),
    auditError: auditError(services, errorMessage),
    steps: data === null ? {} : toldSteps(steps),
  };
  const bytes = sent?.length ?? 0;
  const { maxPersistBytes } = services.config().resultStorage;
  const grace = execution.operation === 'execute_select' && body.truncated === true ? 1_048_576 : 0;
  if (bytes <= maxPersistBytes + grace) return { submission, data, tooLarge: false };
  return replaceTooLarge(submission, execution.mutating, bytes, maxPersistBytes, services);
}

/** The rows that fit no attempt of the request: an agent knows only those whose outcome is open. */
function strangers(rows: readonly MarkerMismatch[], attempts: readonly { fence: number; id: string }[]): MarkerMismatch[] {
  const known = new Set(attempts.map(({ fence, id }) => `${fence}:${id}`));
  return rows
    .filter((row) => !known.has(`${row.fence}:${row.execution_id}`))
    .map((row) => ({
      ...row,
      execution_id: wellFormed(row.execution_id),
      step: wellFormed(row.step),
      state: wellFormed(row.state),
    }));
}

/** AG-47: a read fails; a change that is real is kept with its row count. A failure keeps its own outcome and loses its data. */
export function replaceTooLarge(
  submission: Submission,
  mutating: boolean,
  bytes: number,
  limit: number,
  services: Services,
): Submitted {
  const errorMessage = `result too large: ${bytes} bytes, limit ${limit}`;
  if (mutating && submission.success) {
    return {
      submission: { ...submission, errorMessage },
      data: Buffer.from(objectText({}, { rows_affected: submission.rowsAffected ?? '0' })),
      tooLarge: true,
    };
  }
  const failed = { success: false, errorMessage, kept: 'empty', auditError: auditError(services, errorMessage) } as const;
  return {
    submission: submission.success
      ? { ...submission, ...failed, outcome: 'rolled_back', cancelled: false }
      : { ...submission, ...failed },
    data: null,
    tooLarge: true,
  };
}

/** What the data of a migration says was done (MI-40). */
function stepsOf(operation: string, data: Uint8Array | null): Steps | null {
  return data !== null && (operation === 'migrate_up' || operation === 'migrate_down') ? readSteps(utf8.decode(data)) : null;
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** The digits as sent: JSON numbers hold no count above 2^53 - 1 exactly (AG-50a). */
function exactDigits(rows: number, body: Uint8Array): string {
  if (Number.isSafeInteger(rows)) return String(rows);
  const sent = memberText(body, 'rows_affected') ?? '';
  return /^\d+$/.test(sent) ? sent : BigInt(rows).toString();
}

/** U+0000 and unpaired surrogates become U+FFFD (AG-50a). */
function wellFormed(text: string): string {
  return text.replaceAll('\0', '\uFFFD').replace(/\p{Surrogate}/gu, '\uFFFD');
}
