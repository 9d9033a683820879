import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** What has the focus. */
export interface Focused {
  tag: string;
  /** Its label or its text; empty where nothing has the focus. */
  name: string;
  /** Whether an outline shows it, within the window. */
  isSeen: boolean;
}

const look = `(() => {
  let one = document.activeElement;
  while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
  if (!one || one === document.body) return { tag: '', name: '', isSeen: false };
  const text = one.getAttribute('aria-label') ?? one.labels?.[0]?.innerText ?? one.innerText ?? '';
  const isOutlined = (of, part) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(of, part);
    return outlineStyle !== 'none' && parseFloat(outlineWidth) > 0;
  };
  let isSeen = isOutlined(one, '::after');
  for (let at = one; at && !isSeen; at = at.parentElement) isSeen = isOutlined(at);
  const { top, bottom, left, right } = one.getBoundingClientRect();
  isSeen &&= bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  return { tag: one.tagName, name: text.replace(/\\s+/g, ' ').trim(), isSeen };
})()`;

const focused = (page: Page): Promise<Focused> => page.evaluate<Focused>(look);

/** The page moves the focus when it has painted, so it is looked for until it is there. */
export const expectFocus = (page: Page, wanted: object): Promise<void> =>
  expect.poll(() => focused(page), { timeout: 20_000 }).toMatchObject(wanted);

/** More stops than any page of the tests has. */
const mostStops = 120;

/** Presses Tab until the element of that name has the focus. The focus must be visible at each stop on the way. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let stops = 0; stops < mostStops; stops += 1) {
    await page.keyboard.press('Tab');
    const at = await focused(page);
    // What comes above it meanwhile may push it out of the window for a moment.
    if (at.tag !== '' && !at.isSeen) await expectFocus(page, { isSeen: true });
    if (at.name === name) return;
  }
  throw new Error(`Tab leads to nothing that is named ${name}`);
}

/** Whatever became of the element that had the focus: some element of the page has it. */
export const keepsFocus = (page: Page): Promise<void> =>
  expect.poll(async () => (await focused(page)).tag, { timeout: 20_000 }).not.toBe('');

const controls = new Set([
  ...['button', 'checkbox', 'combobox', 'dialog', 'grid', 'link', 'listbox', 'navigation', 'radio', 'region', 'searchbox'],
  ...['slider', 'spinbutton', 'switch', 'tab', 'textbox'],
]);

/** Role and name of everything that can be operated, as a screen reader gets them from the browser. */
export async function controlsOf(page: Page): Promise<string[]> {
  const inspector = await page.context().newCDPSession(page);
  await inspector.send('Accessibility.enable');
  const { nodes } = await inspector.send('Accessibility.getFullAXTree');
  await inspector.detach();
  return nodes
    .filter(({ ignored, role }) => !ignored && controls.has(String(role?.value)))
    .map(({ role, name }) => `${role?.value} ${name?.value ?? ''}`.trim());
}

/** Those for which a screen reader would have no name. */
export const unnamed = (found: readonly string[]): string[] => found.filter((one) => controls.has(one));
