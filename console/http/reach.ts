import { signal } from '@preact/signals';

/** Whether the last call got no answer of the server. */
export const isAway = signal(false);

/** By how much the server's clock is ahead of this machine's, which may show any day. Nothing while they are as good as alike. */
export const aheadMs = signal(0);

const alikeMs = 60_000;

export function compareClocks(told: string | null): void {
  const ahead = Date.parse(told ?? '') - Date.now();
  if (!Number.isNaN(ahead)) aheadMs.value = Math.abs(ahead) < alikeMs ? 0 : ahead;
}

/** How often a call was answered that there is no session. */
export const endedSessions = signal(0);

export const signedOut = () => {
  endedSessions.value += 1;
};
