import { useEffect, useRef } from 'preact/hooks';
import { answer, api } from '../http/client.js';
import { onChange } from '../state/live.js';
import { useLoaded } from '../state/loaded.js';
import { hasNews, waiting } from '../state/title.js';

/**
 * Keeps the count of requests that wait for the caller, and flags new ones while the page is hidden (CO-21). Renders nothing, so a new count does not
 * re-render the page.
 */
export function Waiting(): null {
  const load = (signal: AbortSignal) =>
    answer(api.GET('/api/requests', { params: { query: { pending_for_me: true, limit: 1 } }, signal }));
  const { value } = useLoaded('waiting', load, () => true);
  const known = useRef<number | null>(null);
  useEffect(() => {
    if (value === undefined) return;
    // Without the event stream, only a rising count shows new ones. What waits when the page is opened is not new, also in a tab that nobody looks at yet.
    if (value.total > (known.current ?? value.total) && document.visibilityState === 'hidden') hasNews.value = true;
    known.current = value.total;
    waiting.value = value.total;
  }, [value]);
  useEffect(
    () =>
      onChange((change) => {
        if (change?.pending_for_me && document.visibilityState === 'hidden') hasNews.value = true;
      }),
    [],
  );
  // The next user to sign in starts fresh.
  useEffect(
    () => () => {
      waiting.value = 0;
      hasNews.value = false;
    },
    [],
  );
  return null;
}
