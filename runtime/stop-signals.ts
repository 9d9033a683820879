import { setMaxListeners } from 'node:events';

const byHand = new DOMException('stopped by Ctrl-C', 'AbortError');

/** Whether a signal of `stopSignals` came from a person at the terminal that the process runs in (OP-61). */
export const isStoppedByHand = (signal: AbortSignal): boolean => signal.reason === byHand;

/** Aborts on the first SIGTERM or SIGINT. A second one ends the process immediately with exit code 1 (OP-62). `release` removes the handlers. */
export function stopSignals(): { signal: AbortSignal; release: () => void } {
  const stopping = new AbortController();
  // Every job of a process listens, and Node warns from the eleventh on.
  setMaxListeners(1000, stopping.signal);
  const onSignal = (name: NodeJS.Signals) => {
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort(name === 'SIGINT' && process.stdin.isTTY ? byHand : undefined);
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  return {
    signal: stopping.signal,
    release: () => {
      process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
    },
  };
}
