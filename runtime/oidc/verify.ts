import { compactVerify, type JWK } from 'jose';
import { acceptHeader, chooseKey, type PublicKey } from '../../domain/oidc/header.js';
import { isRecord } from '../../lib/record.js';
import type { KeySet } from './key-set.js';

export type SignatureFault = 'malformed' | 'algorithm' | 'key' | 'signature';

/** No key was ever fetched, and the provider cannot be reached. */
export class ProviderAway extends Error {}

/** The claims of a token that is signed with a key of the provider (IM-31), not checked yet; or why it is refused. Throws `ProviderAway`. */
export async function verifiedClaims(token: string, keySet: KeySet): Promise<Record<string, unknown> | SignatureFault> {
  const parts = token.split('.');
  const header = parts.length === 3 ? parsed(parts[0] ?? '') : null;
  if (header === null) return 'malformed';
  const accepted = acceptHeader(header);
  if (accepted === null) return 'algorithm';
  const first = chooseKey(await reach(keySet.keys()), accepted);
  const key = first === 'unknown' ? chooseKey(await reach(keySet.keysAnew()), accepted) : first;
  if (typeof key === 'string') return 'key';
  try {
    // Keys of RSA below 2048 bits are refused by the library.
    const { payload } = await compactVerify(token, publicPart(key), { algorithms: [accepted.alg] });
    return parsed(Buffer.from(payload).toString('base64url')) ?? 'malformed';
  } catch {
    return 'signature';
  }
}

const reach = <T>(keys: Promise<T>): Promise<T> =>
  keys.catch((error: unknown) => {
    throw new ProviderAway('the identity provider cannot be reached', { cause: error });
  });

/** The library reads a key once for each object that holds it. */
const publicParts = new WeakMap<PublicKey, JWK>();

/** Private parts that a key set contains by mistake are dropped. */
function publicPart(key: PublicKey): JWK {
  const { kty, n, e, crv, x, y } = key;
  const part =
    publicParts.get(key) ??
    (Object.fromEntries(Object.entries({ kty, n, e, crv, x, y }).filter(([, value]) => value !== undefined)) as unknown as JWK);
  publicParts.set(key, part);
  return part;
}

/** The JSON object in base64url, or null. */
function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'base64url')));
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
