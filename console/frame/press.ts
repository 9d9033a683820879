import type { Press } from '../format/keys.js';

const typed = 'input, textarea, select, dialog, [contenteditable]';

/** A press of a key; `Enter` on a link or button is the browser's own. */
export function pressOf(event: KeyboardEvent): Press {
  const { key, ctrlKey, metaKey, altKey } = event;
  const inside = event.composedPath().filter((one): one is Element => one instanceof Element);
  const isTyping =
    inside.some((one) => one.matches(typed)) || (key === 'Enter' && inside.some((one) => one.matches('a, button, summary')));
  return { key, ctrlKey, metaKey, altKey, isTyping };
}
