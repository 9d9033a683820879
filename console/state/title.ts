import { computed, effect, signal } from '@preact/signals';

export const pageTitle = signal('');

/** How many requests wait for the caller's decision. */
export const waiting = signal(0);

/** Whether something new came while nobody looked. */
export const hasNews = signal(false);

const product = 'Database Change Gateway';

const title = computed(() => {
  const count = waiting.value > 0 ? `(${waiting.value}) ` : '';
  return `${hasNews.value ? '● ' : ''}${count}${pageTitle.value === '' ? '' : `${pageTitle.value} – `}${product}`;
});

/** Keeps the window's title and icon as they should be. Called once. */
export function keepTitle(): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  const plain = icon?.href ?? '';
  const news = icon?.dataset.news ?? plain;
  effect(() => {
    document.title = title.value;
  });
  effect(() => {
    if (icon) icon.href = hasNews.value ? news : plain;
  });
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') hasNews.value = false;
  });
}
