import { useEffect, useState } from 'preact/hooks';

const saysForMs = 2000;

interface CopyProps {
  /** Or what makes it, where that takes long. */
  text: string | (() => string);
  what: string;
  label?: string;
}

export function Copy({ text, what, label = 'copy' }: CopyProps) {
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (said === '') return undefined;
    const timer = setTimeout(() => setSaid(''), saysForMs);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = () =>
    navigator.clipboard.writeText(typeof text === 'string' ? text : text()).then(
      () => setSaid('copied'),
      () => setSaid('not allowed'),
    );
  return (
    <button type="button" class="small" onClick={() => void copy()}>
      <span aria-live="polite">{said || label}</span>
      <span class="hidden"> {what}</span>
    </button>
  );
}
