import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../http/refused.js';
import { type Change, onChange } from './live.js';

export interface Loaded<Value> {
  /** What was last answered; stays while it is asked for again. */
  value: Value | undefined;
  error: Error | null;
  isLoading: boolean;
  reload: () => void;
}

/** What the caller may no longer see, or is gone, must not stand there as if it were still so. */
const isOver = (error: Error) => error instanceof Refused && (error.status === 403 || error.status === 404);

/** Changes that come together are answered by one look. */
const settleMs = 120;

/**
 * What `load` answers, asked for again when `key` changes, and after changes of which `concerns` says so. An answer that is no
 * longer wanted is dropped.
 */
export function useLoaded<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  concerns: (change: Change | null) => boolean = () => false,
): Loaded<Value> {
  const [state, setState] = useState<{ key: string; value?: Value; error: Error | null; isLoading: boolean }>({
    key,
    error: null,
    isLoading: true,
  });
  const latest = useRef({ load, concerns });
  latest.current = { load, concerns };
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...(before.key === key ? before : { key, error: null }), isLoading: true }));
    latest.current.load(abort.signal).then(
      (value) => abort.signal.aborted || setState({ key, value, error: null, isLoading: false }),
      (error: Error) =>
        abort.signal.aborted ||
        setState((before) => ({ ...(isOver(error) ? { key: before.key } : before), error, isLoading: false })),
    );
    return () => abort.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onChange((change) => {
      if (!latest.current.concerns(change)) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        reload();
      }, settleMs);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
  const value = state.key === key ? state.value : undefined;
  return { value, error: state.error, isLoading: state.isLoading, reload };
}
