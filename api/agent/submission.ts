import { z } from 'zod';
import { sha256Hex } from '../../crypto/hash.js';
import type { FoundExecution } from '../../db/executions.js';
import { invalid } from '../../domain/errors.js';
import { readSteps, type Steps, toldSteps } from '../../domain/migration/steps.js';
import { otherFence } from '../../domain/request/judge-result.js';
import type { MarkerMismatch, Submission } from '../../domain/request/moves.js';
import { isSuccess, OUTCOMES, type Outcome } from '../../domain/request/types.js';
import { memberText } from '../../lib/json/member.js';
import { objectText } from '../../lib/json/write.js';
import { cutBytes } from '../../lib/utf8.js';
import type { Services } from '../context.js';
import { named, text } from '../http/fields.js';
import type { Call } from '../http/route.js';
import { auditError } from '../requests/redaction.js';

const maxErrorBytes = 4096;
const maxFence = 2_147_483_647;
// Accepts counts that JSON.parse rounded: a count must never cost us the outcome of the SQL (AG-50a).
const count = (about: string) =>
  z
    .number()
    .refine((value) => Number.isInteger(value) && value >= 0, 'must be an integer of at least 0')
    .meta({ type: 'integer', minimum: 0, description: about });

/** A marker row that the agent cannot match with an attempt (HD-41). */
const markerMismatch = z.object({
  fence: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).meta({ description: 'The number of the run that it names.' }),
  execution_id: z.string().max(64).meta({ description: 'The execution that it names.' }),
  step: z.string().max(255).default('').meta({ description: 'The step that it names.' }),
  state: z.string().max(64).default('').meta({ description: 'The state that it names.' }),
});

/** The body of `POST /api/agent/jobs/{execution id}/result` (agent.md section 6). */
export const resultBody = named('ResultSubmission', 'How a run ended.', {
  success: z.boolean().meta({ description: 'Whether it succeeded.' }),
  result_data: text('The result as a JSON text, which is kept byte for byte.').nullish(),
  error_message: text(`What went wrong; ${maxErrorBytes} bytes of it are kept.`).nullish(),
  rows_affected: count('How many rows were changed.').nullish(),
  duration_ms: count('How long it took, in milliseconds.').nullish(),
  truncated: z.boolean().nullish().meta({ description: 'Whether rows are missing.' }),
  total_rows: count('How many rows there were. Not kept.').nullish(),
  fence: count('The number of the run, as it was claimed.').nullish(),
  outcome: z.enum(OUTCOMES).nullish().meta({ description: 'What became of the change in the database.' }),
  applied_fence: z
    .number()
    .int()
    .min(0)
    .max(maxFence)
    .nullish()
    .meta({ description: 'For `already_applied`: the run whose marker was found.' }),
  applied_execution_id: z.guid().nullish().meta({ description: 'For `already_applied`: the execution whose marker was found.' }),
  marker_mismatches: z
    .array(markerMismatch)
    .max(20)
    .nullish()
    .meta({ description: 'Marker rows that match no run that the agent knows of.' }),
  cancelled: z.boolean().nullish().meta({ description: 'Whether it failed because of a cancel.' }),
});

export type ResultBody = z.output<typeof resultBody>;
export type ResultCall = Call<{ id: string }, undefined, ResultBody>;

/** `data` is the text to store, in UTF-8. */
export interface Submitted {
  submission: Submission;
  data: Uint8Array | null;
  /** Answered with 413 (AG-47). */
  tooLarge: boolean;
}

type Attempts = readonly { fence: number; id: string }[];

/** Applies the size rule (AG-47, RS-55). The rules then judge the submission; `tooLarge` says that its data was over the limit. */
export function readSubmission(
  call: Pick<ResultCall, 'body' | 'bodyBytes' | 'taken'>,
  execution: FoundExecution,
  services: Services,
  attempts: Attempts = [],
): Submitted {
  const { body, taken: sent } = call;
  const steps = stepsOf(execution.operation, sent);
  const data = dataOf(body, sent, steps);
  const outcome = outcomeOf(body, data);
  // The move checks the fence again under the lock. Checking here keeps a refused call's data out of the store, which takes one text per
  // execution.
  if (body.fence != null && body.fence !== execution.fence) throw otherFence();
  const report = readReport(call);
  const submission: Submission = {
    ...report,
    outcome,
    errorMessage: body.success ? null : (report.errorMessage ?? 'the agent gave no reason'),
    markerMismatches: strangers(body.marker_mismatches ?? [], attempts),
    kept: data === null ? 'empty' : 'object',
    text: textOf(report, outcome, sent),
    auditError: auditError(services, report.errorMessage),
    steps: data === null ? {} : toldSteps(steps),
  };
  const bytes = sent?.length ?? 0;
  const grace = execution.operation === 'execute_select' && body.truncated === true ? 1_048_576 : 0;
  const limit = services.config().resultStorage.maxPersistBytes + grace;
  return bytes <= limit ? { submission, data, tooLarge: false } : replaceTooLarge(services, execution, submission, bytes);
}

/** A failure keeps only its report of applied migrations (RS-13). If part of the first one remains, the list is empty and names it. */
function dataOf({ success, outcome }: ResultBody, sent: Uint8Array | null, steps: Steps | null): Uint8Array | null {
  const isPartial = steps !== null && (steps.count > 0 || outcome === 'partial');
  return success || isPartial ? sent : null;
}

function outcomeOf({ success, outcome: told }: ResultBody, data: Uint8Array | null): Outcome {
  const outcome = told ?? (success ? 'committed' : data === null ? 'rolled_back' : 'partial');
  if (isSuccess(outcome) !== success) throw invalid(`outcome ${outcome} contradicts success`, 'body.outcome');
  return outcome;
}

/** What the agent says of its run, in the form in which it is stored. */
function readReport({ body, bodyBytes }: Pick<ResultCall, 'body' | 'bodyBytes'>) {
  return {
    success: body.success,
    fence: body.fence ?? null,
    cancelled: body.cancelled ?? null,
    appliedFence: body.applied_fence ?? null,
    appliedExecutionId: body.applied_execution_id ?? null,
    rowsAffected: body.rows_affected == null ? null : exactDigits(body.rows_affected, bodyBytes),
    durationMs: body.duration_ms == null ? null : Math.min(body.duration_ms, Number.MAX_SAFE_INTEGER),
    truncated: body.truncated ?? null,
    errorMessage: body.error_message == null ? null : cutBytes(wellFormed(body.error_message), maxErrorBytes),
  };
}

/** Equal for the same submission sent again (AG-43). A hash stands for the data: an escaped copy would be the largest object in memory. */
function textOf(report: ReturnType<typeof readReport>, outcome: Outcome, sent: Uint8Array | null): string {
  const { success, errorMessage, rowsAffected, cancelled } = report;
  const data = sent === null ? null : sha256Hex(sent);
  return sha256Hex(JSON.stringify([success, data, errorMessage, rowsAffected, outcome, cancelled]));
}

/** Rows that match no attempt of the request. The agent knows only the attempts whose outcome is open. */
function strangers(rows: readonly MarkerMismatch[], attempts: Attempts): MarkerMismatch[] {
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

/** AG-47: a read fails; a real change is kept with its row count. A failure keeps its own outcome and loses its data. */
export function replaceTooLarge(
  services: Services,
  { mutating }: Pick<FoundExecution, 'mutating'>,
  submission: Submission,
  bytes: number,
): Submitted {
  const errorMessage = `result too large: ${bytes} bytes, limit ${services.config().resultStorage.maxPersistBytes}`;
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

/** Which steps a migration reports as done (MI-40). */
function stepsOf(operation: string, data: Uint8Array | null): Steps | null {
  return data !== null && (operation === 'migrate_up' || operation === 'migrate_down') ? readSteps(utf8.decode(data)) : null;
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** The digits as sent, because JSON numbers above 2^53 - 1 are not exact (AG-50a). */
function exactDigits(rows: number, body: Uint8Array): string {
  if (Number.isSafeInteger(rows)) return String(rows);
  const sent = memberText(body, 'rows_affected') ?? '';
  return /^\d+$/.test(sent) ? sent : BigInt(rows).toString();
}

/** Replaces U+0000 and unpaired surrogates with U+FFFD (AG-50a). */
function wellFormed(text: string): string {
  return text.replaceAll('\0', '\uFFFD').replace(/\p{Surrogate}/gu, '\uFFFD');
}
