import type { ServerResponse } from 'node:http';

/** A page of the demo's identity provider; `body` is markup. Nothing is loaded from anywhere. */
export function page(body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Log in to the demo</title><style>${style}</style></head><body><main><h1>Log in to the demo</h1>${body}</main></body></html>
`;
}

const style =
  'body{font:1rem/1.5 system-ui,sans-serif;margin:4rem auto;max-width:22rem;padding:0 1rem}label{display:block;margin:.6rem 0}' +
  'input[type=text],input[type=password]{display:block;width:100%;padding:.4rem;font:inherit;box-sizing:border-box}' +
  'button{padding:.5rem 1.2rem;font:inherit}.wrong{color:#b00020}code{font-size:1.4rem}';

export function loginPage(address: string, isWrong: boolean): string {
  return page(`<p>The name is alice or bob; the terminal of <code style="font-size:1rem">npm start</code> shows the passwords.</p>
${isWrong ? '<p class="wrong">This name and password do not fit.</p>' : ''}
<form method="post" action="${escaped(address)}">
<label>Name <input type="text" name="name" autocomplete="username" required autofocus></label>
<label>Password <input type="password" name="password" autocomplete="current-password" required></label>
<button>Log in</button></form>`);
}

/** For the code of `svc login --device`; `form` is the provider's. */
export const codePage = (form: string, isWrong: boolean) =>
  page(`<p>${isWrong ? 'This code is not, or no longer, waiting. ' : ''}Type the code that svc shows.</p>${form}
<button form="op.deviceInputForm">Go on</button>`);

export const confirmPage = (form: string, code: string) =>
  page(`<p>Does svc show this code?</p><p><code>${escaped(code)}</code></p>${form}
<button form="op.deviceConfirmForm">Yes, go on</button> <button form="op.deviceConfirmForm" name="abort" value="yes">No</button>`);

export const donePage = page('<p>You are logged in. This page can be closed.</p>');
export const errorPage = (what: string) => page(`<p class="wrong">${escaped(what)}</p>`);

export function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  });
  response.end(text);
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
