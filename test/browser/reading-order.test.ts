import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { sqlTokens } from '../../lib/sql-tokens.js';
import { openTestBrowser, type TestBrowser } from '../support/console.js';

vi.setConfig({ testTimeout: 120_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

const folder = new URL('../../console/style/', import.meta.url);
const styles = readdirSync(folder)
  .filter((name) => name.endsWith('.css') && name !== 'main.css')
  .map((name) => readFileSync(new URL(name, folder), 'utf8'))
  .join('\n');

/** As the page marks it up. */
const markup = (sql: string) =>
  sqlTokens(sql)
    .map(({ kind, text }) => (kind === 'plain' ? text : `<span class="sql-${kind}">${text}</span>`))
    .join('');

/** The left edges of what is read one after the other: a text or a comment as a whole, anything else character by character. */
const edges = `(() => {
  const found = [];
  const nodes = document.createTreeWalker(document.querySelector('code'), NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const isWhole = node.parentElement.matches('.sql-text, .sql-comment');
    for (let at = 0; at < node.length; at += isWhole ? node.length : 1) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, isWhole ? node.length : at + 1);
      found.push(range.getBoundingClientRect().left);
    }
  }
  return found;
})()`;

describe.skipIf(browser === null)('SQL', () => {
  afterAll(() => browser.close());

  it.each([
    "insert into t values ('א', 100, 5, 'ב')",
    'select א, 100, 5, ב from t',
    "select 'א' < 5, 'ب'",
    "select $$ א, 100, 'ב', 5, 'ג'",
    'select 1 /* א */, 100, 5, ב',
  ])('stands on the page in the order in which a database reads it: %s (CO-3, CO-32)', async (sql) => {
    const { page, context } = await browser.open();
    await page.setContent(`<style>${styles}</style><figure class="sql"><ol><li><code>${markup(sql)}</code></li></ol></figure>`);
    const lefts = (await page.evaluate(edges)) as number[];
    expect(lefts.length).toBeGreaterThan(10);
    expect(lefts).toEqual(lefts.toSorted((one, other) => one - other));
    await context.close();
  });
});
