import { ApplicationFailure, Context } from '@temporalio/activity';
import { beginAttempt, recordAnswer, recordFailure, type WaitingAnchor } from '../db/audit-anchors.js';
import type { Database } from '../db/client.js';
import { anySignal } from '../lib/signals.js';
import type { AnchorActivities } from '../workflows/messages.js';
import { failure } from './failure.js';

export type AnchorOutcome =
  /** The anchor has the checkpoint. At most 64 KiB of its answer are kept. */
  | { kind: 'anchored'; answer: Uint8Array; isTruncated: boolean }
  /** `reason` is one of our own words, such as `exit_1`; `detail` is for the log of the worker only. */
  | { kind: 'failed'; reason: string; detail: string };

/** Gives a note to the anchor outside. Never rejects; ends soon after the signal aborts. */
export type Anchor = (note: string, signal: AbortSignal) => Promise<AnchorOutcome>;

export interface AnchorOptions {
  database: Database;
  anchor: Anchor;
  /** Whether a trusted key signed the note, and it is of this checkpoint. */
  isGenuine: (waiting: WaitingAnchor) => Promise<boolean>;
  /** Aborts when the worker stops. */
  signal: AbortSignal;
  onAnchored: (seq: number, answerBytes: number) => void;
  onFailure: (seq: number | null, reason: string, detail: string) => void;
}

const heartbeatMs = 2000;

/** The one activity of the workflow of an anchor (AU-88). An attempt may come twice, so the anchor may get a checkpoint twice. */
export function createAnchorActivity(options: AnchorOptions): AnchorActivities {
  const { database, onAnchored, onFailure } = options;
  return {
    async giveToAnchor(oldest) {
      const tried = { seq: null as number | null };
      try {
        const waiting = await beginAttempt(database, oldest);
        if (waiting === null) return null;
        const { seq } = waiting;
        tried.seq = seq;
        const outcome = (await options.isGenuine(waiting)) ? await whileAlive(options, waiting.note) : notGenuine;
        if (outcome.kind === 'anchored') {
          await recordAnswer(database, seq, outcome);
          onAnchored(seq, outcome.answer.length);
          return seq;
        }
        onFailure(seq, outcome.reason, outcome.detail);
        await recordFailure(database, seq, outcome.reason);
        throw failure(`the anchor did not take checkpoint ${seq}: ${outcome.reason}`, 'anchor');
      } catch (error) {
        if (error instanceof ApplicationFailure) throw error;
        onFailure(tried.seq, 'worker_error', String(error));
        throw failure('the attempt failed; the log of the worker says why', 'anchor');
      }
    },
  };
}

const notGenuine: AnchorOutcome = {
  kind: 'failed',
  reason: 'note_not_genuine',
  detail: 'the stored note is not what an audit key signed for this checkpoint',
};

/** Tells Temporal that the attempt goes on, so that it notices within seconds when this process is gone. A cancel there ends the attempt. */
async function whileAlive({ anchor, signal }: AnchorOptions, note: string): Promise<AnchorOutcome> {
  const context = Context.current();
  const stopping = anySignal([signal, context.cancellationSignal]);
  const beating = setInterval(() => context.heartbeat(), heartbeatMs);
  try {
    return await anchor(note, stopping.signal);
  } finally {
    clearInterval(beating);
    stopping.release();
  }
}
