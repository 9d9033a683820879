import { useEffect, useState } from 'preact/hooks';
import { answer, api, type Schema } from '../../http/client.js';
import { may } from '../../state/session.js';

export interface Preflighted {
  found: Schema['Preflight'] | null;
  error: Error | null;
  isAsking: boolean;
}

const settleMs = 400;

/** What the text would come to, asked 400 ms after the last change. The last answer stays in sight while the next is on its way. */
export function usePreflight(database: string, environment: string, sql: string): Preflighted {
  const [state, setState] = useState<Preflighted>({ found: null, error: null, isAsking: false });
  useEffect(() => {
    if (database === '' || environment === '' || sql.trim() === '' || !may('request.preflight')) {
      setState({ found: null, error: null, isAsking: false });
      return undefined;
    }
    const abort = new AbortController();
    setState((before) => ({ ...before, isAsking: true }));
    const ask = async () => {
      const include_explain = may('request.preflight_explain');
      try {
        const found = await answer(
          api.POST('/api/preflight', { body: { database, environment, sql, include_explain }, signal: abort.signal }),
        );
        setState({ found, error: null, isAsking: false });
      } catch (error) {
        if (!abort.signal.aborted) setState({ found: null, error: error as Error, isAsking: false });
      }
    };
    const timer = setTimeout(() => void ask(), settleMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [database, environment, sql]);
  return state;
}
