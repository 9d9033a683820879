import { useState } from 'preact/hooks';

/** Makes one move at a time, and tells what came of it. */
export interface Acting {
  isBusy: boolean;
  error: Error | null;
  done: string | null;
  run: (action: () => Promise<string>) => void;
}

export function useActing(reload: () => void): Acting {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const run = (action: () => Promise<string>) => {
    setIsBusy(true);
    setError(null);
    action()
      .then(setDone, setError)
      .finally(() => {
        setIsBusy(false);
        reload();
      });
  };
  return { isBusy, error, done, run };
}
