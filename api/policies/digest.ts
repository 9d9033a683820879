import { sha256Hex } from '../../crypto/hash.js';
import { canonicalJson } from '../../domain/canonical-json.js';

const known = new WeakMap<object, string>();

/** 12 hexadecimal digits of a policy's content, by which two versions under one id are told apart (PO-11). */
export function policyDigest(policy: object): string {
  const digest = known.get(policy) ?? sha256Hex(canonicalJson(JSON.stringify(policy))).slice(0, 12);
  known.set(policy, digest);
  return digest;
}
