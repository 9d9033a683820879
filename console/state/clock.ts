import { signal } from '@preact/signals';

const everyMs = 5_000;

/** The present, for times in words. Stands still while nobody looks at the page. */
export const now = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now();
}, everyMs);
document.addEventListener('visibilitychange', () => {
  now.value = Date.now();
});
