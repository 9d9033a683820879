import { addressText } from '../config/server.js';
import type { Context } from '../context.js';
import { CommandFailure } from '../failure.js';
import { credentialsFolder, storeOf } from '../login/store.js';
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
  const { baseUrl, source } = context.settings();
  const data = { local: true, server: baseUrl.origin, credential: source, ...kept(context) };
  return new CommandFailure(error.code, error.message, {
    data: JSON.stringify(data),
    hint: `is the server running? The credential would come from ${source}`,
    exit: 1,
  });
}

/** What is known of a login without asking anybody. */
function kept(context: Context): { subject?: string | null; expires_at?: string | null } {
  const { baseUrl, credential } = context.settings();
  if (credential.kind !== 'login') return {};
  const { issuer, clientId } = credential.provider;
  const logins = storeOf(credentialsFolder(context.terminal.environment), issuer, clientId).read()?.logins ?? [];
  const login = logins.find(({ server }) => server === addressText(baseUrl));
  return login === undefined ? {} : { subject: login.subject, expires_at: login.expires_at };
}

const rows = [
  ['subject', 'subject_id'],
  ['name', 'display_name'],
  ['email', 'email'],
  ['source', 'source'],
  ['roles', 'roles'],
  ['groups', 'groups'],
] as const;
