/**
 * Keeps keyboard focus on the page. If the focused element vanishes or is disabled (a button during its call), focus returns to it or to the page
 * title, so that Tab does not start from the top. Call once.
 */
export function keepFocus(): void {
  let last: HTMLElement | null = null;
  addEventListener('focusin', ({ target }) => {
    last = target as HTMLElement;
  });
  // A click outside any control drops the focus on purpose.
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
