import { useRef, useState } from 'preact/hooks';

/** Makes one move at a time, and tells what came of it. */
export interface Acting {
  isBusy: boolean;
  error: Error | null;
  done: string | null;
  run: (action: () => Promise<string>) => void;
}

/**
 * `shown` says which state of the request the page shows. After a move it stays busy until the page shows another one: a second press would be a move
 * from a state that nobody has seen, such as an approval of the next step. What came of the move is told until the state that it led to is past.
 */
export function useActing(shown: string, reload: () => void): Acting {
  const [isCalling, setIsCalling] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [move, setMove] = useState<{ told: string; from: string } | null>(null);
  const led = useRef<string | null>(null);
  if (move !== null && shown !== move.from) led.current ??= shown;
  const isPast = shown !== move?.from && shown !== led.current;
  const run = (action: () => Promise<string>) => {
    setIsCalling(true);
    setError(null);
    action()
      .then((told) => {
        led.current = null;
        setMove({ told, from: shown });
      }, setError)
      .finally(() => {
        setIsCalling(false);
        reload();
      });
  };
  return { isBusy: isCalling || move?.from === shown, error, done: isPast ? null : (move?.told ?? null), run };
}
