import { isRecord } from '../../lib/record.js';

/** The header of a token, once it is known to be acceptable (IM-31). `jku`, `x5u` and embedded keys are never looked at. */
export interface AcceptedHeader {
  alg: Algorithm;
  kid: string | null;
}

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA'] as const;
export type Algorithm = (typeof algorithms)[number];

/** `none` and HS* are not among the algorithms; a critical extension is one that we do not know. */
export function acceptHeader(header: unknown): AcceptedHeader | null {
  if (!isRecord(header)) return null;
  const { alg, kid, crit } = header;
  const known = algorithms.find((name) => name === alg);
  if (known === undefined || crit !== undefined) return null;
  if (kid !== undefined && typeof kid !== 'string') return null;
  return { alg: known, kid: kid ?? null };
}

/** A member of a key set (RFC 7517). Unknown members stay. */
export type PublicKey = Readonly<Record<string, unknown>>;

const kinds = { RS: ['RSA'], PS: ['RSA'], ES: ['EC'], Ed: ['OKP'] } as const;
const curves: Partial<Record<Algorithm, string>> = { ES256: 'P-256', ES384: 'P-384', EdDSA: 'Ed25519' };

/**
 * The key of the set that the token must be signed with: the one of its `kid`, or without one the only signing key there is; and only if its kind,
 * curve, algorithm and use fit (IM-31). `unknown` if the set has none of that `kid`.
 */
export function chooseKey(keys: readonly PublicKey[], { alg, kid }: AcceptedHeader): PublicKey | 'unknown' | 'unfit' {
  const candidates = kid === null ? keys.filter(isForSigning) : keys.filter((key) => key.kid === kid);
  if (candidates.length === 0) return kid === null ? 'unfit' : 'unknown';
  const [key, ...more] = kid === null ? candidates : candidates.filter((one) => fits(one, alg));
  return key === undefined || more.length > 0 || !fits(key, alg) ? 'unfit' : key;
}

const isForSigning = ({ kty, use, key_ops }: PublicKey) =>
  (kty === 'RSA' || kty === 'EC' || kty === 'OKP') &&
  (use === undefined || use === 'sig') &&
  (key_ops === undefined || (Array.isArray(key_ops) && key_ops.includes('verify')));

function fits(key: PublicKey, alg: Algorithm): boolean {
  const kind: readonly string[] = kinds[alg.slice(0, 2) as keyof typeof kinds];
  const curve = curves[alg];
  return (
    isForSigning(key) &&
    kind.includes(String(key.kty)) &&
    (key.alg === undefined || key.alg === alg || (alg === 'EdDSA' && key.alg === 'Ed25519')) &&
    (curve === undefined || key.crv === curve)
  );
}
