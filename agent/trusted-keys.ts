import type { Log } from './log.js';

/** Public keys in hex by key id. */
export type KeysById = ReadonlyMap<string, string>;

/** HD-80: splits the gateway's keys into the pinned ones and the ids of the others; null pins nothing. */
export function pinKeys(listed: KeysById, trusted: readonly string[] | null): { keys: KeysById; others: string[] } {
  if (trusted === null) return { keys: listed, others: [] };
  const isTrusted = (publicKey: string) => trusted.includes(publicKey);
  return {
    keys: new Map([...listed].filter(([, publicKey]) => isTrusted(publicKey))),
    others: [...listed].filter(([, publicKey]) => !isTrusted(publicKey)).map(([keyId]) => keyId),
  };
}

/** Logs keys that the gateway lists and agent.toml does not, once for each set: an impostor's, or the next key of a rotation. */
export function createOtherKeysLog(log: Log): (others: readonly string[]) => void {
  let told = '';
  return (others) => {
    const keys = [...others].sort().join(', ');
    if (keys !== told && keys !== '') log.warn('the gateway lists keys that server.trusted_keys does not name', { keys });
    told = keys;
  };
}
