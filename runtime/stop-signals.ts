import { setMaxListeners } from 'node:events';

/** Aborts on the first SIGTERM or SIGINT. A second one ends the process immediately with exit code 1 (OP-62). `release` removes the handlers. */
export function stopSignals(): { signal: AbortSignal; release: () => void } {
  const stopping = new AbortController();
  // Every job of a process listens, and Node warns from the eleventh on.
  setMaxListeners(1000, stopping.signal);
  const onSignal = () => {
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  return {
    signal: stopping.signal,
    release: () => {
      process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
    },
  };
}
