import type { DeviceAuthorizationResponse } from 'openid-client';
import { sleep } from '../../lib/sleep.js';
import { visible } from '../../lib/visible.js';
import type { ProviderSettings } from '../config/provider.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { isPassing, type Provider, refusalOf } from './provider.js';
import type { Tokens } from './tokens.js';
import { tell, waitingFor } from './waiting.js';

const grant = 'urn:ietf:params:oauth:grant-type:device_code';
const longestMs = 3_600_000;
const longestPauseMs = 60_000;

/** RFC 8628 (CL-41): the person types a code in any browser, while this asks for the outcome. With PKCE: Keycloak can demand it here too, others ignore it. */
export async function loginByDevice(
  context: Context,
  provider: Provider,
  settings: ProviderSettings,
  waitMs: number | null,
): Promise<Tokens> {
  provider.until(context.signal);
  const { library, config } = provider;
  const verifier = library.randomPKCECodeVerifier();
  const started = await library.initiateDeviceAuthorization(config, {
    scope: settings.scopes,
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const { verification_uri: page, verification_uri_complete: complete, user_code: code } = started;
  if (!/^https?:\/\//.test(page))
    throw failure('auth_error', `${context.what}: the provider has no login page (authorization_endpoint)`);
  tell(context, [
    `Open ${visible(page)} in any browser and type the code ${visible(code)}`,
    ...(complete === undefined ? [] : [`or open ${visible(complete)} and compare the code`]),
  ]);
  const lifeMs = Math.min(started.expires_in * 1000, waitMs ?? longestMs, longestMs);
  return waitingFor(context, 'the login by code', lifeMs, (signal) => {
    provider.until(signal);
    return poll(context, provider, { ...started, code_verifier: verifier }, signal);
  });
}

/** A lost answer or a short outage of the provider does not end the login: the code stays valid. */
async function poll(
  { terminal: { limits }, what }: Context,
  { library, config }: Provider,
  { device_code, interval, code_verifier }: DeviceAuthorizationResponse & { code_verifier: string },
  signal: AbortSignal,
): Promise<Tokens> {
  let pauseMs = interval === undefined ? limits.devicePauseMs : interval * 1000;
  for (;;) {
    await sleep(pauseMs, signal);
    signal.throwIfAborted();
    try {
      return await library.genericGrantRequest(config, grant, { device_code, code_verifier });
    } catch (error) {
      signal.throwIfAborted();
      const refusal = refusalOf(error);
      if (refusal === 'expired_token') throw failure('timeout', `${what}: the code has expired`, { hint: 'svc login' });
      if (refusal === 'slow_down') pauseMs += limits.devicePauseMs;
      else if (isPassing(error)) pauseMs = Math.min(2 * pauseMs, longestPauseMs);
      else if (refusal !== 'authorization_pending') throw error;
    }
  }
}
