/** Aborts at the first SIGTERM or SIGINT; a second one ends the process at once with exit code 1 (OP-62). `release` takes the handlers back. */
export function stopSignals(): { signal: AbortSignal; release: () => void } {
  const stopping = new AbortController();
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
