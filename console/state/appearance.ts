import { effect, signal } from '@preact/signals';

export const schemes = ['system', 'light', 'dark'] as const;
export type Scheme = (typeof schemes)[number];

const key = 'svc.appearance';

const stored = (): Scheme => schemes.find((scheme) => scheme === localStorage.getItem(key)) ?? 'system';

const keysKey = 'svc.keys';

/** Whether single letters are shortcuts. People who use speech input turn them off (WCAG 2.1.4). */
export const hasKeys = signal(localStorage.getItem(keysKey) !== 'off');

effect(() => {
  if (hasKeys.value) localStorage.removeItem(keysKey);
  else localStorage.setItem(keysKey, 'off');
});

/** The colours that the user has chosen; the system's unless told. */
export const scheme = signal<Scheme>(stored());

effect(() => {
  const { value } = scheme;
  if (value === 'system') localStorage.removeItem(key);
  else localStorage.setItem(key, value);
  if (value === 'system') delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = value;
});
