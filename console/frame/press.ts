import { actionOf, type KeyAction, type Press } from '../format/keys.js';
import { hasKeys } from '../state/appearance.js';

const typed = 'input, textarea, select, dialog, [contenteditable]';

/** What a press of a key does on the page, if anything. */
export const actionIn = (event: KeyboardEvent): KeyAction | null => (hasKeys.value ? actionOf(pressOf(event)) : null);

/** `Enter` on a link or button is the browser's own. */
function pressOf(event: KeyboardEvent): Press {
  const { key, ctrlKey, metaKey, altKey } = event;
  const inside = event.composedPath().filter((one): one is Element => one instanceof Element);
  const isTyping =
    inside.some((one) => one.matches(typed)) || (key === 'Enter' && inside.some((one) => one.matches('a, button, summary')));
  return { key, ctrlKey, metaKey, altKey, isTyping };
}
