import { effect, signal } from '@preact/signals';
import { aheadMs } from '../http/reach.js';

const everyMs = 5_000;

/** The present by the server's clock, for times in words. Stands still while nobody looks at the page. */
export const now = signal(Date.now());

const look = () => {
  now.value = Date.now() + aheadMs.value;
};

effect(look);
setInterval(() => {
  if (document.visibilityState === 'visible') look();
}, everyMs);
document.addEventListener('visibilitychange', look);
