import type { ThreadLimits } from '../../sql/classifier-thread.js';

/** Limits for classifying long texts on a busy machine, where one that takes 0.2 s alone may exceed the 2 s of SQ-7. What never ends still fails. */
export const unhurried: Partial<ThreadLimits> = { textMs: 20_000, bundleMs: 60_000, startMs: 60_000 };
