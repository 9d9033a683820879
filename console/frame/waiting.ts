import { useEffect } from 'preact/hooks';
import { answer, api } from '../http/client.js';
import { onChange } from '../state/live.js';
import { useLoaded } from '../state/loaded.js';
import { hasNews, waiting } from '../state/title.js';

/**
 * Keeps the count of what waits for the caller, and tells of new ones while nobody looks (CO-21). Draws nothing, so that a new count
 * does not draw the frame and the page in it again.
 */
export function Waiting(): null {
  const load = (signal: AbortSignal) =>
    answer(api.GET('/api/requests', { params: { query: { pending_for_me: true, limit: 1 } }, signal }));
  const { value } = useLoaded('waiting', load, () => true);
  useEffect(() => {
    if (value === undefined) return;
    // While changes do not come by themselves, only the count tells of new ones.
    if (value.total > waiting.peek() && document.visibilityState === 'hidden') hasNews.value = true;
    waiting.value = value.total;
  }, [value]);
  useEffect(
    () =>
      onChange((change) => {
        if (change?.pending_for_me && document.visibilityState === 'hidden') hasNews.value = true;
      }),
    [],
  );
  // Who signs in next is somebody else.
  useEffect(
    () => () => {
      waiting.value = 0;
      hasNews.value = false;
    },
    [],
  );
  return null;
}
