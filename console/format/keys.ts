/** What a key does on a page with a list. */
export type KeyAction = 'next' | 'previous' | 'open' | 'filter' | 'new' | 'help';

export interface Press {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  /** Whether something is typed into, where letters are letters. */
  isTyping: boolean;
}

const actions: Record<string, KeyAction> = { j: 'next', k: 'previous', Enter: 'open', '/': 'filter', c: 'new', '?': 'help' };

export function actionOf({ key, ctrlKey, metaKey, altKey, isTyping }: Press): KeyAction | null {
  if (isTyping || ctrlKey || metaKey || altKey) return null;
  return Object.hasOwn(actions, key) ? actions[key]! : null;
}

/** The chosen place of a list of `length` after a step; -1 while none is chosen. Stays at the ends. */
export function stepped(chosen: number, length: number, action: 'next' | 'previous'): number {
  if (length === 0) return -1;
  if (chosen < 0) return action === 'next' ? 0 : length - 1;
  return Math.min(length - 1, Math.max(0, chosen + (action === 'next' ? 1 : -1)));
}
