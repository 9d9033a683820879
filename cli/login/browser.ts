import { visible } from '../../lib/visible.js';
import type { ProviderSettings } from '../config/provider.js';
import type { Context } from '../context.js';
import { openPage } from '../open-page.js';
import { type CallbackListener, listenForCallback } from './callback.js';
import type { Provider } from './provider.js';
import type { Tokens } from './tokens.js';
import { tell, waitingFor } from './waiting.js';

export interface BrowserWish {
  /** False: do not open a browser, print the address. */
  opens: boolean;
  waitMs: number;
  /** Return null rather than ask the person to open the address: a login by code is easier then. */
  orElse: boolean;
}

/** Authorization code with PKCE, through the browser of this machine (CL-40). Null when no browser could be opened. */
export async function loginByBrowser(
  context: Context,
  provider: Provider,
  settings: ProviderSettings,
  { opens, waitMs, orElse }: BrowserWish,
): Promise<Tokens | null> {
  const { library, config } = provider;
  const secrets = { verifier: library.randomPKCECodeVerifier(), state: library.randomState(), nonce: library.randomNonce() };
  const wantsId = settings.scopes.split(/\s+/).includes('openid');
  return waitingFor(context, 'the browser', waitMs, async (signal) => {
    provider.until(signal);
    const listener = await listenForCallback(secrets.state, signal, () =>
      context.output.note('a callback that does not belong to this login was refused'),
    );
    try {
      const address = library.buildAuthorizationUrl(config, {
        redirect_uri: listener.redirectUri,
        scope: settings.scopes,
        state: secrets.state,
        code_challenge: await library.calculatePKCECodeChallenge(secrets.verifier),
        code_challenge_method: 'S256',
        ...(wantsId ? { nonce: secrets.nonce } : {}),
      });
      const isOpen = opens && (await openPage(address.href, context.terminal.environment));
      if (!isOpen && orElse) return null;
      if (!isOpen || context.output.mode !== 'quiet')
        tell(context, [
          isOpen ? 'Log in in the browser. If none opens:' : 'Open this address in a browser of this machine:',
          visible(address.href),
        ]);
      return await codeFor(provider, listener, secrets, wantsId);
    } finally {
      listener.close();
    }
  });
}

interface Secrets {
  verifier: string;
  state: string;
  nonce: string;
}

/** The browser's page tells how the login ended, so it waits for the exchange of the code. */
async function codeFor(
  { library, config }: Provider,
  listener: CallbackListener,
  secrets: Secrets,
  wantsId: boolean,
): Promise<Tokens> {
  const { address, answer } = await listener.callback;
  try {
    const tokens = await library.authorizationCodeGrant(config, address, {
      pkceCodeVerifier: secrets.verifier,
      expectedState: secrets.state,
      ...(wantsId ? { expectedNonce: secrets.nonce, idTokenExpected: true } : {}),
    });
    await answer('done');
    return tokens;
  } catch (error) {
    await answer('failed');
    throw error;
  }
}
