import { useRef, useState } from 'preact/hooks';

/** One call at a time, and what came of the last one. */
export interface Sending {
  error: Error | null;
  told: string;
  /** Does nothing while a call runs, or at the second click of a double click, whose first one has been answered already. */
  send: (action: () => Promise<string>, press?: MouseEvent) => void;
}

export function useSending(onSettled: () => void): Sending {
  const [error, setError] = useState<Error | null>(null);
  const [told, setTold] = useState('');
  const isSending = useRef(false);
  const send = (action: () => Promise<string>, press?: MouseEvent) => {
    if (isSending.current || isRepeated(press)) return;
    isSending.current = true;
    setError(null);
    setTold('');
    void action()
      .then(setTold, setError)
      .finally(() => {
        isSending.current = false;
        onSettled();
      });
  };
  return { error, told, send };
}

/** Whether it is the second click of a double click. */
export const isRepeated = (press: MouseEvent | undefined): boolean => press !== undefined && press.detail > 1;
