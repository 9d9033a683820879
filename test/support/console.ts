import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { getChromium } from './chromium.js';
import { noteNotRun } from './not-run.js';

/** A browser of one test file. `close` it at its end. */
export interface TestBrowser {
  /** A window of somebody who is signed in by a token; it has cookies of its own. */
  signIn(url: string, token: string, options?: WindowOptions): Promise<Window>;
  open(options?: WindowOptions): Promise<Window>;
  close(): Promise<void>;
}

export interface WindowOptions {
  width?: number;
  height?: number;
  scheme?: 'light' | 'dark';
}

export interface Window {
  page: Page;
  context: BrowserContext;
  /** What the browser complained of: violations of the page's policy, and errors of its code. */
  complaints: string[];
}

/** A Chromium without a window; null where there is none, which the run then tells (DV-12). */
export async function openTestBrowser(testFile: string): Promise<TestBrowser | null> {
  const signal = AbortSignal.timeout(10 * 60_000);
  const program = await getChromium({ signal, report: (line) => console.error(line) }).catch((error: Error) => error);
  if (program instanceof Error) {
    noteNotRun(testFile, program.message);
    return null;
  }
  const browser: Browser = await chromium.launch({
    executablePath: program.file,
    // As root there is no sandbox, and containers have a small /dev/shm.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    env: { ...stringsOf(process.env), ...program.environment },
  });
  const open: TestBrowser['open'] = async ({ width = 1280, height = 900, scheme = 'light' } = {}) => {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    page.setDefaultTimeout(45_000);
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (/Content Security Policy|Trusted/i.test(message.text())) complaints.push(message.text());
    });
    return { page, context, complaints };
  };
  const signIn: TestBrowser['signIn'] = async (url, token, options) => {
    const window = await open(options);
    await window.page.goto(`${url}/console/`);
    await window.page.getByLabel('API token').fill(token);
    await window.page.getByRole('button', { name: 'Sign in' }).click();
    await window.page.getByRole('heading', { name: 'Inbox' }).waitFor();
    return window;
  };
  return { open, signIn, close: () => browser.close() };
}

/** Puts a text into the editor as a paste does. */
export async function pasteSql(page: Page, text: string): Promise<void> {
  await page.locator('.cm-content').waitFor();
  await page.evaluate(`(() => {
    const editor = document.querySelector('.editor').shadowRoot.querySelector('.cm-content');
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', ${JSON.stringify(text)});
    editor.focus();
    editor.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  })()`);
}

/** What the part of a page with that heading says went wrong. */
export const problemIn = (page: Page, region: string): Locator => page.getByRole('region', { name: region }).getByRole('alert');

const stringsOf = (environment: NodeJS.ProcessEnv) =>
  Object.fromEntries(Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined));
