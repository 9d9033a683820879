export interface Page {
  status: number;
  /** Where it redirects to, or null. */
  location: string | null;
  text: string;
}

/** Gets a page, or posts a form to it; keeps cookies and follows no redirect. */
export type Browser = (url: string, form?: URLSearchParams) => Promise<Page>;

export function openBrowser(): Browser {
  const cookies = new Map<string, string>();
  return async (url, form) => {
    const answer = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      body: form ?? null,
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    return { status: answer.status, location: location === null ? null : new URL(location, url).href, text: await answer.text() };
  };
}
