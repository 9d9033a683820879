import type { AnchorOutcome } from '../../activities/anchor.js';

/** What is kept of an answer (AU-87). */
export const maxAnswerBytes = 64 * 1024;

export const failed = (reason: string, detail = ''): AnchorOutcome => ({ kind: 'failed', reason: reason.slice(0, 64), detail });
