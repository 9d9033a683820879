import { useState } from 'preact/hooks';

/** Makes one move at a time, and tells what came of it. */
export interface Acting {
  isBusy: boolean;
  error: Error | null;
  done: string | null;
  run: (action: () => Promise<string>) => void;
}

/**
 * `shown` says which state of the request the page shows. After a move it stays busy until the page shows another one: a second press would be a move
 * from a state that nobody has seen, such as an approval of the next step.
 */
export function useActing(shown: string, reload: () => void): Acting {
  const [isCalling, setIsCalling] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const [movedFrom, setMovedFrom] = useState<string | null>(null);
  const run = (action: () => Promise<string>) => {
    setIsCalling(true);
    setError(null);
    action()
      .then((told) => {
        setDone(told);
        setMovedFrom(shown);
      }, setError)
      .finally(() => {
        setIsCalling(false);
        reload();
      });
  };
  return { isBusy: isCalling || movedFrom === shown, error, done, run };
}
