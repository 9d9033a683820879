import { z } from 'zod';
import { sha256Hex } from '../../crypto/hash.js';
import type { FoundExecution } from '../../db/executions.js';
import { invalid } from '../../domain/errors.js';
import type { Submission } from '../../domain/request/moves.js';
import type { Outcome } from '../../domain/request/types.js';
import type { Services } from '../context.js';
import { auditError, cutBytes } from '../requests/redaction.js';

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
// A number that JSON.parse has rounded is still a count: the outcome of the SQL is never lost for it (AG-50a).
const count = z.number().refine((value) => Number.isInteger(value) && value >= 0, 'must be an integer of at least 0');

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
  applied_fence: count.nullish(),
  cancelled: z.boolean().nullish(),
});

export type ResultBody = z.output<typeof resultBody>;

/** What was submitted, and the text that is to be kept of it. */
export interface Submitted {
  submission: Submission;
  data: string | null;
}

/** The submission as rules judge it, with the size rule applied (AG-47, RS-55): too large is told apart by `tooLarge`. */
export function readSubmission(
  body: ResultBody,
  execution: FoundExecution,
  services: Services,
): Submitted & { tooLarge: boolean } {
  const outcome = body.outcome ?? (body.success ? 'committed' : 'rolled_back');
  if (succeeded.has(outcome) !== body.success) throw invalid(`outcome ${outcome} contradicts success`, 'body.outcome');
  const data = wellFormed(body.result_data);
  const errorMessage = body.error_message == null ? null : cutBytes(wellFormed(body.error_message) ?? '', maxErrorBytes);
  const rowsAffected = body.rows_affected == null ? null : BigInt(body.rows_affected).toString();
  const submission: Submission = {
    success: body.success,
    outcome,
    fence: body.fence ?? null,
    cancelled: body.cancelled ?? null,
    appliedFence: body.applied_fence ?? null,
    rowsAffected,
    durationMs: body.duration_ms ?? null,
    truncated: body.truncated ?? null,
    errorMessage: body.success ? null : (errorMessage ?? 'the agent gave no reason'),
    kept: data === null || !body.success ? 'empty' : 'object',
    text: sha256Hex(JSON.stringify([body.success, data, errorMessage, rowsAffected, outcome, body.cancelled ?? null])),
    auditError: auditError(services, errorMessage),
  };
  const bytes = data === null ? 0 : Buffer.byteLength(data);
  const { maxPersistBytes } = services.config().resultStorage;
  const grace = execution.operation === 'execute_select' && body.truncated === true ? 1_048_576 : 0;
  if (bytes <= maxPersistBytes + grace) return { submission, data, tooLarge: false };
  return { ...tooLarge(submission, execution.mutating, bytes, maxPersistBytes, services), tooLarge: true };
}

/** AG-47: a read fails; a change that is real is kept with its row count. A failure keeps its own outcome and loses its data. */
export function tooLarge(submission: Submission, mutating: boolean, bytes: number, limit: number, services: Services): Submitted {
  const errorMessage = `result too large: ${bytes} bytes, limit ${limit}`;
  if (mutating && submission.success) {
    return {
      submission: { ...submission, errorMessage },
      data: JSON.stringify({ rows_affected: Number(submission.rowsAffected ?? 0) }),
    };
  }
  const failed = { success: false, errorMessage, kept: 'empty', auditError: auditError(services, errorMessage) } as const;
  return {
    submission: { ...submission, ...failed, outcome: submission.success ? 'rolled_back' : submission.outcome },
    data: null,
  };
}

/** U+0000 and unpaired surrogates become U+FFFD (AG-50a). */
function wellFormed(text: string | null | undefined): string | null {
  return text == null ? null : text.replaceAll('\0', '\uFFFD').replace(/\p{Surrogate}/gu, '\uFFFD');
}
