import { showDuration } from '../../lib/duration.js';
import { sleep } from '../../lib/sleep.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { paintStatus } from '../output/style.js';
import { cutToWidth } from '../output/width.js';
import { canRedraw } from '../terminal.js';
import { awayDetail, awayNotes } from './patience.js';
import { describeQueueHint, lookAtRequest, type RequestView } from './request-view.js';

/** Progress on stderr in human mode (CL-25); the other modes print nothing and make no calls. */
export interface Progress {
  show(view: RequestView): void;
  /** The server cannot be reached, and why; null: it answers. */
  away(reason: string | null): void;
  /** Polls the request until the signal aborts; never rejects. */
  watch(id: string, signal: AbortSignal): Promise<void>;
  /** The latest queue hint, in words. */
  lastHint(): string | null;
  stop(): void;
}

export function createProgress(context: Context, id: string): Progress {
  const { terminal, output } = context;
  const isShown = output.mode === 'human';
  const display = !isShown ? null : canRedraw(terminal) ? redrawnLine(context, id) : repeatedLines(context, id);
  let hint: string | null = null;
  const show = (view: RequestView) => {
    // The result reports the end.
    if (view.status === 'executed' || view.status === 'failed') return;
    hint = view.queueHint === null ? hint : describeQueueHint(view.queueHint);
    display?.show(view);
  };
  return {
    show,
    away: (reason) => display?.away(reason),
    watch: (requestId, signal) => (isShown ? watchRequest(context, requestId, signal, show) : Promise.resolve()),
    lastHint: () => hint,
    stop: () => display?.stop(),
  };
}

/** What shows a request while it is followed. */
export interface Display {
  show(view: RequestView): void;
  away(reason: string | null): void;
  stop(): void;
}

/**
 * The first look does not wait, to learn who runs it; later looks end when the status differs from the one seen last. Failures only delay the next look.
 */
async function watchRequest(context: Context, id: string, signal: AbortSignal, show: (view: RequestView) => void): Promise<void> {
  const { progressDelayMs, paceMs } = context.terminal.limits;
  await sleep(progressDelayMs, signal);
  for (let seen: string | null = null; !signal.aborted; ) {
    const startedAt = context.terminal.now();
    const view: RequestView | null = await lookAtRequest(context, id, seen, signal).catch(() => null);
    if (view && !signal.aborted) show(view);
    const left = paceMs - (context.terminal.now() - startedAt);
    const isFirst = seen === null && view !== null;
    seen = view?.status ?? seen;
    if (!isFirst && left > 0) await sleep(left, signal);
  }
}

/** One line, redrawn each second. */
export function redrawnLine(context: Context, id: string, detailOf = progressDetail): Display {
  const { stderr, now } = context.terminal;
  const startedAt = now();
  let latest: RequestView | null = null;
  let whyAway: string | null = null;
  let isDrawn = false;
  const draw = () => {
    if (!latest && whyAway === null) return;
    isDrawn = true;
    const elapsed = showDuration(now() - startedAt);
    const detail = whyAway === null ? latest && detailOf(latest) : awayDetail(whyAway);
    const status = visible(latest?.status ?? 'waiting');
    const plain = cutToWidth(
      `${status}  ${elapsed}  request ${id.slice(0, 8)}${detail ? `  ${detail}` : ''}`,
      (stderr.columns || 80) - 1,
    );
    stderr.write(`\r\u001b[2K${paintStatus(context.output.noteStyle, status)}${plain.slice(status.length)}`);
  };
  const timer = setInterval(draw, 1000);
  return {
    show(view) {
      latest = view;
      draw();
    },
    away(reason) {
      if (reason === whyAway) return;
      whyAway = reason;
      draw();
    },
    stop() {
      clearInterval(timer);
      if (isDrawn) stderr.write('\r\u001b[2K');
    },
  };
}

/** One line for each change of state, and one every 30 s while it is unchanged. */
function repeatedLines(context: Context, id: string): Display {
  const { now, limits } = context.terminal;
  let previous = '';
  let printedAt = 0;
  return {
    show(view) {
      const detail = progressDetail(view);
      const line = `${visible(view.status)}${detail ? `: ${detail}` : ''}`;
      if (line === previous && now() - printedAt < limits.progressRepeatMs) return;
      previous = line;
      printedAt = now();
      context.output.note(`request ${id} ${line}`);
    },
    away: awayNotes(context, id),
    stop: () => undefined,
  };
}

/** Who or what the request waits for, cleaned for a terminal. */
export function progressDetail(view: RequestView): string {
  if (view.status === 'running' && view.claimedBy !== null) return `agent ${visible(view.claimedBy)}`;
  if (view.status === 'dispatched' && view.queueHint !== null) return describeQueueHint(visible(view.queueHint));
  if (view.status !== 'pending') return '';
  return `next approvers ${view.nextApprovers.map(visible).join(', ')} (${view.stepsDone}/${view.stepsTotal} steps)`;
}
