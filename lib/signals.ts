/**
 * A signal that aborts with the reason of the first given signal that does. `release` lets go of them: AbortSignal.any would stay
 * registered with each for as long as that lives.
 */
export function anySignal(signals: readonly AbortSignal[]): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const listeners = signals.map((signal) => {
    const listener = () => controller.abort(signal.reason);
    if (signal.aborted) listener();
    else signal.addEventListener('abort', listener, { once: true });
    return () => signal.removeEventListener('abort', listener);
  });
  return { signal: controller.signal, release: () => listeners.forEach((remove) => void remove()) };
}
