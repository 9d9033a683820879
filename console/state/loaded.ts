import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../http/refused.js';
import { type Change, onChange } from './live.js';
import { createPace } from './pace.js';
import { rights } from './session.js';

export interface Loaded<Value> {
  /** What was last answered; stays while it is asked for again. */
  value: Value | undefined;
  error: Error | null;
  isLoading: boolean;
  reload: () => void;
}

/** What the caller may no longer see, or what is gone, must not stay on screen. */
const isOver = (error: Error) => error instanceof Refused && (error.status === 403 || error.status === 404);

/**
 * What `load` answers, asked for again when `key` or what the caller may do changes, and after changes of which `concerns` says so. An answer
 * that is no longer wanted is dropped.
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
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const [pace] = useState(() => createPace(reload));
  useEffect(() => {
    const abort = new AbortController();
    pace.began();
    setState((before) => ({ ...(before.key === key ? before : { key, error: null }), isLoading: true }));
    const answered = (next: Parameters<typeof setState>[0]) => {
      if (abort.signal.aborted) return;
      setState(next);
      pace.ended();
    };
    latest.current.load(abort.signal).then(
      (value) => answered({ key, value, error: null, isLoading: false }),
      (error: Error) => answered((before) => ({ ...(isOver(error) ? { key: before.key } : before), error, isLoading: false })),
    );
    return () => abort.abort();
  }, [key, round, rights.value]);
  useChanges(pace, (change) => latest.current.concerns(change));
  const value = state.key === key ? state.value : undefined;
  return { value, error: state.error, isLoading: state.isLoading, reload };
}

/** Tells `pace` of each change that concerns what is loaded. */
function useChanges(pace: ReturnType<typeof createPace>, concerns: (change: Change | null) => boolean): void {
  useEffect(() => {
    const stop = onChange((change) => {
      if (concerns(change)) pace.changed(change === null);
    });
    return () => {
      pace.stop();
      stop();
    };
  }, []);
}
