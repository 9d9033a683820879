import { signal } from '@preact/signals';

/** Whether the last call got no answer of the server. */
export const isAway = signal(false);

/** How often a call was answered that there is no session. */
export const endedSessions = signal(0);

export const signedOut = () => {
  endedSessions.value += 1;
};
