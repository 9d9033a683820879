import { consoleUrl } from '../../domain/request/link.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { hasBrowser, isRemote, openPage } from '../open-page.js';
import type { Answer } from '../output/output.js';

/** `svc console` (CL-55): opens the web console signed in, by a code that is good once and for a minute (CO-33). */
export async function openConsole(context: Context, _: readonly string[], options: { browser?: boolean }): Promise<Answer> {
  const { terminal, what } = context;
  const page = consoleUrl(context.settings().baseUrl.href);
  const made = (await context.client().call({ method: 'POST', path: ['api', 'console', 'code'] })).json();
  const code = made.get('code')?.string() ?? null;
  if (code === null) throw failure('server_error', `${what}: the server gave no code`);
  const link = `${page}#code=${encodeURIComponent(code)}`;
  const { environment } = terminal;
  // While the browser starts, the list of processes shows the link to other users of the machine. Who comes by SSH often shares it.
  const opens = options.browser !== false && !isRemote(environment) && hasBrowser(environment, process.platform);
  const isOpen = opens && (await openPage(link, environment));
  const expiresAt = made.get('expires_at')?.string() ?? null;
  return {
    data: JSON.stringify({ page, opened: isOpen, link: isOpen ? null : link, expires_at: expiresAt }),
    human: () => `${visible(isOpen ? page : link)}\n`,
    note: isOpen ? 'opened in your browser' : 'open this link yourself: it signs you in once, within a minute',
  };
}
