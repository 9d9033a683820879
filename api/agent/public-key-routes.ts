import { z } from 'zod';
import { isoOrNull } from '../../db/row-types.js';
import { rememberKeyOfAgent } from '../../db/signing-keys.js';
import type { PublicKeyEntry } from '../context.js';
import { type Route, route } from '../http/route.js';

export const publicKeyRoutes: Route[] = [
  route({
    operationId: 'showPublicKey',
    method: 'get',
    path: '/api/public-key',
    summary: 'Show the public keys that execution tokens are signed with',
    tag: 'agents',
    access: 'agent',
    query: z.object({
      trusted: z.string().max(2048).optional().meta({ description: 'ids of the keys that the agent trusts, joined by commas' }),
    }),
    status: 200,
    response: z.object({
      public_key: z.string(),
      key_id: z.string(),
      keys: z.array(
        z.object({
          key_id: z.string(),
          public_key: z.string(),
          status: z.enum(['current', 'next', 'retiring']),
          not_after: z.string().meta({ format: 'date-time' }).nullable(),
        }),
      ),
    }),
    errors: ['validation.failed'],
    handle: async ({ caller, query }, { database, signingKeys }) => {
      const keys = await signingKeys.publicKeys();
      const current = keys.find(({ status }) => status === 'current');
      if (current === undefined) throw new Error('no current signing key');
      await database.transaction((tx) => rememberKeyOfAgent(tx, caller.id, signingKeyFor(keys, current, query.trusted).keyId));
      return {
        public_key: current.publicKeyHex,
        key_id: current.keyId,
        keys: keys.map((key) => ({
          key_id: key.keyId,
          public_key: key.publicKeyHex,
          status: key.status,
          not_after: isoOrNull(key.notAfter),
        })),
      };
    },
  }),
];

/** ET-19, HD-80: an agent that pins keys gets the newest key that it trusts and that may still sign, otherwise the current one. */
function signingKeyFor(keys: readonly PublicKeyEntry[], current: PublicKeyEntry, trusted: string | undefined): PublicKeyEntry {
  const ids = trusted?.split(',') ?? [current.keyId];
  if (ids.includes(current.keyId)) return current;
  return keys.find(({ keyId, status }) => status === 'retiring' && ids.includes(keyId)) ?? current;
}
