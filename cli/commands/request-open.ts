import { requestUrl } from '../../domain/request/link.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { hasBrowser, openPage } from '../open-page.js';
import type { Answer } from '../output/output.js';
import { resolveRequestId } from '../request-id.js';

/** `svc request open ID` (CL-38): reads the request first, so that no page is opened of one that the caller cannot see. */
export async function openRequest(context: Context, args: readonly string[]): Promise<Answer> {
  const { terminal, what } = context;
  const id = await resolveRequestId(context, args[0]!);
  await context.client().call({ method: 'GET', path: ['api', 'requests', id] });
  const page = requestUrl(context.settings().baseUrl.href, id);
  if (page === null) throw failure('config_error', `${what}: the address of the server is too long for a link`);
  const isOpen = hasBrowser(terminal.environment, process.platform) && (await openPage(page, terminal.environment));
  return {
    data: JSON.stringify({ page, opened: isOpen }),
    human: () => `${visible(page)}\n`,
    note: isOpen ? 'opened in your browser' : 'no browser could be started: open this address yourself',
  };
}
