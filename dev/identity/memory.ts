import type { Adapter, AdapterPayload } from 'oidc-provider';

/** What the provider keeps, for as long as it runs: a login does not outlive it. Payloads say themselves when they end. */
export function memoryOf(): (kind: string) => Adapter {
  const all = new Map<string, AdapterPayload>();
  return (kind) => {
    const key = (id: string) => `${kind}:${id}`;
    const firstWhere = async (isMeant: (payload: AdapterPayload) => boolean) =>
      [...all].find(([name, payload]) => name.startsWith(`${kind}:`) && isMeant(payload))?.[1];
    return {
      upsert: async (id, payload) => void all.set(key(id), payload),
      find: async (id) => all.get(key(id)),
      findByUid: (uid) => firstWhere((payload) => payload.uid === uid),
      findByUserCode: (code) => firstWhere((payload) => payload.userCode === code),
      async consume(id) {
        const payload = all.get(key(id));
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
      },
      destroy: async (id) => void all.delete(key(id)),
      async revokeByGrantId(grantId) {
        for (const [name, payload] of all) if (payload.grantId === grantId) all.delete(name);
      },
    };
  };
}
