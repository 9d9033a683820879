/**
 * Keeps the focus on the page. What has it may vanish or be switched off, such as a button while its call runs; then it gets it back, or
 * the title of the page does, so that the keyboard does not begin at the top again. Called once.
 */
export function keepFocus(): void {
  let last: HTMLElement | null = null;
  addEventListener('focusin', ({ target }) => {
    last = target as HTMLElement;
  });
  // Who clicks beside everything wants no focus.
  addEventListener('pointerdown', () => {
    last = null;
  });
  const look = () => {
    if (last === null || document.activeElement !== document.body || (last.isConnected && last.matches(':disabled'))) return;
    last.focus({ preventScroll: true });
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>('main h1[tabindex], main input')?.focus({ preventScroll: true });
  };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributeFilter: ['disabled'] });
}
