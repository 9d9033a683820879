import { serverSettings } from '../config/server.js';
import type { Context } from '../context.js';
import { CommandFailure } from '../failure.js';
import { renderDetails } from '../output/details.js';
import type { Answer } from '../output/output.js';

/** `svc whoami`; when the server is unreachable it prints the local login, marked as local, and fails. */
export async function whoami(context: Context): Promise<Answer> {
  const reply = await context
    .client()
    .call({ method: 'GET', path: ['api', 'me'] })
    .catch((error: unknown) => {
      throw error instanceof CommandFailure && error.code === 'network_error' ? localLogin(context, error) : error;
    });
  const me = reply.json();
  return { data: reply.text, human: () => renderDetails(me, rows, context.output.style) };
}

function localLogin(context: Context, error: CommandFailure): CommandFailure {
  const { baseUrl, source } = serverSettings(context.layers(), context.options, () => undefined);
  const data = { local: true, server: baseUrl.origin, credential: source };
  return new CommandFailure(error.code, error.message, {
    data: JSON.stringify(data),
    hint: `not asked, only local: the credential of ${source} for ${baseUrl.origin}`,
    exit: 1,
  });
}

const rows = [
  ['subject', 'subject_id'],
  ['name', 'display_name'],
  ['email', 'email'],
  ['source', 'source'],
  ['roles', 'roles'],
  ['groups', 'groups'],
] as const;
