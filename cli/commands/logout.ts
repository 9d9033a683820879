import { visible } from '../../lib/visible.js';
import { addressText, loginAuthority, loginPlace } from '../config/server.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { providerFailure, providerOf } from '../login/provider.js';
import { allStores, credentialsFolder, type LoginStore, type Logins, type StoredLogin, storeOf } from '../login/store.js';
import type { Answer } from '../output/output.js';

/** `svc logout [--all]` (CL-44): calls only the provider, and only where the login was made. */
export async function logout(context: Context, _: readonly string[], options: { all?: boolean }): Promise<Answer> {
  const folder = credentialsFolder(context.terminal.environment);
  const removed: string[] = [];
  if (options.all === true) {
    for (const store of allStores(folder)) removed.push(...(await end(context, store, null)));
  } else {
    const { baseUrl, provider } = loginPlace(context.layers(), context.options);
    removed.push(...(await end(context, storeOf(folder, provider.issuer, provider.clientId), addressText(baseUrl))));
  }
  return {
    data: JSON.stringify({ removed }),
    human: () =>
      removed.length === 0 ? 'not logged in\n' : removed.map((server) => `logged out of ${visible(server)}\n`).join(''),
  };
}

/** Ends the login for a server, or all of the file, under the lock: a renewal that goes on elsewhere cannot bring it back. */
async function end(context: Context, store: LoginStore, server: string | null): Promise<string[]> {
  if (readOrRemove(context, store) === null) return [];
  return store.underLock(
    async () => {
      const found = readOrRemove(context, store);
      const ended = found?.logins.filter((login) => server === null || login.server === server) ?? [];
      if (found === null || ended.length === 0) return [];
      await Promise.all(ended.map((login) => revoke(context, found, login)));
      store.write({ ...found, logins: found.logins.filter((login) => !ended.includes(login)) });
      return ended.map((login) => login.server);
    },
    context.signal,
    context.terminal.limits.loginLockMs,
  );
}

/** A file that cannot be read names no login to revoke, but it can be removed. */
function readOrRemove({ output }: Context, store: LoginStore): Logins | null {
  try {
    return store.read();
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    store.remove();
    output.warn(`${error.message}; it was removed, but nothing was revoked at the provider`);
    return null;
  }
}

/** A provider that does not answer must not keep anybody logged in here. */
async function revoke(context: Context, { issuer, client_id }: Logins, login: StoredLogin): Promise<void> {
  const { output, terminal, signal } = context;
  if (login.refresh_token === null) return;
  if (login.revocation_endpoint === null)
    return output.warn(`${issuer} offers no revocation; its tokens stay valid until they expire`);
  const over = new AbortController();
  const onAbort = () => over.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const slow = failure('timeout', `${issuer} does not answer`);
  const timer = setTimeout(() => over.abort(slow), terminal.limits.connectMs);
  try {
    const provider = await providerOf(context, { issuer, clientId: client_id, ca: loginAuthority(context.layers()) }, login);
    provider.until(over.signal);
    await provider.library.tokenRevocation(provider.config, login.refresh_token, { token_type_hint: 'refresh_token' });
  } catch (error) {
    signal.throwIfAborted();
    output.warn(`the login could not be revoked at the provider: ${providerFailure(context, error).message}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
