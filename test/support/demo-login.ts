import { type Browser, openBrowser } from './browser.js';

/** What a browser does at the demo's identity provider: opens an address that svc prints, types, and goes where it is sent. */
export async function logInAtDemo(address: string, name: string, password: string): Promise<void> {
  const browser = openBrowser();
  const { origin } = new URL(address);
  let at: string | null = address.startsWith(`${origin}/device`) ? await confirmCode(browser, address) : address;
  for (let step = 0; step < 10 && at !== null && at.startsWith(origin); step += 1) {
    const shown = await browser(at);
    const isForm: boolean = shown.location === null && shown.text.includes('name="password"');
    const page = isForm ? await browser(at, new URLSearchParams({ name, password })) : shown;
    if (page.status === 401) throw new Error('refused');
    at = page.location;
  }
  if (at !== null) await fetch(at);
}

/** The provider's own forms: the code as it came with the address, then the question whether svc shows it. */
async function confirmCode(browser: Browser, address: string): Promise<string | null> {
  const post = (page: string) => {
    const fields = [...page.matchAll(/<input[^>]*name="(\w+)"[^>]*value="([^"]*)"/g)].map(([, key, value]) => [key!, value!]);
    return browser(new URL('/device', address).href, new URLSearchParams(fields as [string, string][]));
  };
  const asked = await post((await browser(address)).text);
  return (await post(asked.text)).location;
}
