import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { stepped } from '../format/keys.js';
import { actionIn } from './press.js';

/** `j` and `k` move the focus among the links of a list that carry `data-row`; the browser opens the focused one by Enter. `/` leads to the filters. */
export function useRowKeys(list: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const action = actionIn(event);
      const filter = action === 'filter' ? document.querySelector<HTMLElement>('search input') : null;
      if (filter !== null) filter.focus();
      else if (action === 'next' || action === 'previous') step(list.current, action);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

function step(list: HTMLElement | null, action: 'next' | 'previous'): void {
  const rows = [...(list?.querySelectorAll<HTMLElement>('[data-row]') ?? [])];
  const chosen = rows.indexOf(document.activeElement as HTMLElement);
  const row = rows[stepped(chosen, rows.length, action)];
  row?.focus();
  row?.scrollIntoView({ block: 'nearest' });
}
