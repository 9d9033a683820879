import type { ServerSettings } from './config/server.js';
import { CommandFailure } from './failure.js';

/** Says what to do about a credential or an address that the server refuses. A suspended person is not told to log in again: that would be in vain. */
export function withSettingsHint(problem: CommandFailure, { credential, source, baseUrl }: ServerSettings): CommandFailure {
  const { code, message, reason, exit, data } = problem;
  const hint = pathHint(code, baseUrl.pathname) ?? (credential.kind === 'login' ? loginHint(code) : tokenHint(code, source));
  return hint === null || problem.hint !== null ? problem : new CommandFailure(code, message, { hint, reason, exit, data });
}

/** People take the address from the API's documentation or the web console, with the path that stands there. */
function pathHint(code: string, path: string): string | null {
  if (code !== 'route.not_found' || path === '/') return null;
  return `leave out ${path} in [server] url of svc.toml, or SVC_SERVER_URL, unless a proxy serves the gateway there`;
}

/** The credential was refused, and another one of the same person would do. */
export const asksForLogin = (code: string): boolean =>
  ['auth.oidc_failed', 'auth.token_expired', 'auth.invalid_token'].includes(code);

const loginHint = (code: string) => (asksForLogin(code) ? 'svc login' : null);

function tokenHint(code: string, source: string): string | null {
  const next = 'an administrator makes a new one: svc user reissue-initial-token ID';
  if (code === 'auth.token_expired') return `the token of ${source} has expired; ${next}`;
  return code === 'auth.invalid_token' ? `the token of ${source} is wrong, was revoked, or is of another server; ${next}` : null;
}
