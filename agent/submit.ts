import { closeObject, insideString, openObject } from '../lib/json/write.js';
import { sleep } from '../lib/sleep.js';
import { type GatewayClient, isRefusal } from './gateway-client.js';
import type { StreamedBody } from './http-exchange.js';
import type { Log } from './log.js';
import type { MarkerRow } from './marker.js';
import { cutErrorText, failure, type Outcome } from './outcome.js';
import { resultAnswer } from './protocol.js';
import { type ResultText, resultText } from './result-json.js';
import type { Timings } from './timings.js';

export interface Submission {
  executionId: string;
  fence: number | null;
  outcome: Outcome;
  /** Whether it is of an operation that may write. */
  mutating: boolean;
  durationMs: number;
  /** Marker rows that fit no attempt (HD-41). */
  strangers: readonly MarkerRow[];
  /** The executions of the fences that may be found applied. */
  attempts: ReadonlyMap<number, string>;
}

/**
 * Submits a result until it is acknowledged or the gateway finally refuses it, `retryMs` have passed, or the signal aborts (AG-50, AP-41). At
 * the end of that time it is sent once more, however long the gateway asked to wait, and then its outcome alone, which would be lost otherwise.
 * Repeating is safe: the server recognizes a submission by its content.
 */
export async function submitResult(
  submission: Submission,
  dependencies: { client: GatewayClient; timings: Timings; log: Log; retryMs: number; signal: AbortSignal },
): Promise<void> {
  const { client, timings, log, signal } = dependencies;
  const { executionId, outcome } = submission;
  const path = `/api/agent/jobs/${executionId}/result`;
  const bare = withoutData(submission);
  let sent = submission;
  const until = performance.now() + dependencies.retryMs;
  const about = { execution_id: executionId, outcome: outcome.outcome };
  for (let attempt = 0, isLast = false; !signal.aborted; attempt++) {
    const tried = await tryOnce(() =>
      client.post(path, bodyOf(sent), { timeoutMs: timings.httpMs, longestMs: timings.largeBodyMs, signal }),
    );
    if (tried.kind === 'accepted') return log.info('result accepted', { ...about, status: tried.status });
    if (tried.kind === 'final') return log.warn('result refused', { ...about, status: tried.status });
    const backoff = timings.resultBackoffMs[Math.min(attempt, timings.resultBackoffMs.length - 1)] ?? 1000;
    const waitMs = Math.max(backoff, tried.retryAfterMs ?? 0);
    const leftMs = until - performance.now();
    const isOver = isLast || leftMs <= 0;
    if (isOver && sent === bare) break;
    isLast = waitMs >= leftMs;
    // What refuses the data, or is too slow for it, may let the outcome through.
    if (isOver || tried.isTooLarge) sent = bare;
    log.warn('result not accepted yet', { ...about, why: tried.why });
    await sleep(Math.max(0, Math.min(waitMs, leftMs)), signal);
  }
  log.error('result given up', about);
}

type Tried =
  | { kind: 'accepted'; status: string }
  | { kind: 'final'; status: number }
  | { kind: 'again'; why: string; isTooLarge: boolean; retryAfterMs: number | null };

/** A status that is not the gateway's own is that of a proxy, which may be another one in a moment. */
async function tryOnce(post: () => ReturnType<GatewayClient['post']>): Promise<Tried> {
  try {
    const answer = await post();
    const { status, body, retryAfterMs } = answer;
    const accepted = status < 300 ? resultAnswer.safeParse(body) : null;
    if (accepted?.success) return { kind: 'accepted', status: accepted.data.status };
    if (isRefusal(answer)) return { kind: 'final', status };
    return { kind: 'again', why: `status ${status}`, isTooLarge: status === 413, retryAfterMs };
  } catch (error) {
    return { kind: 'again', why: (error as Error).message, isTooLarge: false, retryAfterMs: null };
  }
}

/** The same outcome without large data, as the gateway keeps it of a result above its own limit (AG-47). */
function withoutData(submission: Submission): Submission {
  const { outcome, mutating } = submission;
  const { resultData, ...bare } = outcome;
  if (resultData === undefined || resultData.bytes < SMALL_BYTES) return submission;
  if (!bare.success) return { ...submission, outcome: bare };
  const why = `result too large to be sent: ${resultData.bytes} bytes`;
  if (!mutating) return { ...submission, outcome: failure('rolled_back', why) };
  const rows = resultText(JSON.stringify({ rows_affected: bare.rowsAffected ?? 0 }));
  return { ...submission, outcome: { ...bare, resultData: rows, truncated: true } };
}

function bodyOf(submission: Submission): object | StreamedBody {
  const { outcome, fence, durationMs, strangers, attempts } = submission;
  const common = {
    success: outcome.success,
    outcome: outcome.outcome,
    fence,
    duration_ms: Math.round(durationMs),
    ...(strangers.length === 0 ? {} : { marker_mismatches: strangers.map(mismatchOf) }),
  };
  if (!outcome.success) {
    const { errorMessage, cancelled, resultData } = outcome;
    const failed = { ...common, error_message: cutErrorText(errorMessage), cancelled };
    return resultData ? withData(failed, resultData) : failed;
  }
  const fields = {
    ...common,
    rows_affected: outcome.rowsAffected,
    truncated: outcome.truncated,
    ...(outcome.appliedFence === undefined
      ? {}
      : { applied_fence: outcome.appliedFence, applied_execution_id: attempts.get(outcome.appliedFence) ?? null }),
  };
  return withData(fields, outcome.resultData);
}

/** A planted row may hold anything. */
function mismatchOf({ fence, executionId, step, state }: MarkerRow) {
  const counted = Number.isSafeInteger(fence) && fence >= 0 ? fence : 0;
  return { fence: counted, execution_id: executionId.slice(0, 64), step: step.slice(0, 255), state: state.slice(0, 64) };
}

function withData(fields: object, data: ResultText): object | StreamedBody {
  return data.pieces.length === 1 && data.bytes < SMALL_BYTES
    ? { ...fields, result_data: data.toString() }
    : new EscapedBody(fields, data);
}

const SMALL_BYTES = 65_536;

/** A body whose `result_data` is escaped piece by piece while it is written (AP-40). */
class EscapedBody {
  readonly #fields: object;
  readonly #data: ResultText;

  constructor(fields: object, data: ResultText) {
    this.#fields = fields;
    this.#data = data;
  }

  *[Symbol.iterator](): Iterator<string> {
    yield `${openObject(JSON.stringify(this.#fields), 'result_data')}"`;
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    for (const piece of this.#data.pieces) yield insideString(decoder.decode(piece));
    yield `"${closeObject()}`;
  }
}
