import { z } from 'zod';
import { isoOrNull } from '../../db/row-types.js';
import { rememberKeyOfAgent } from '../../db/signing-keys.js';
import type { PublicKeyEntry } from '../context.js';
import { hex, instant, list, named } from '../http/fields.js';
import { type Route, route } from '../http/route.js';

const publicKey = hex(64, 'The key, for Ed25519.');
const keyId = hex(16, 'The id of the key.');

const publicKeys = named('PublicKeys', 'The keys that execution tokens are checked with.', {
  public_key: publicKey,
  key_id: keyId,
  keys: list(
    z.object({
      key_id: keyId,
      public_key: publicKey,
      status: z.enum(['current', 'next', 'retiring']).meta({ description: 'Whether it signs now, will sign, or has signed.' }),
      not_after: instant('When it ends; null if that is not decided.').nullable(),
    }),
    'All keys that may have signed a token that is still valid, or that will sign.',
  ),
});

export const publicKeyRoutes: Route[] = [
  route({
    operationId: 'showPublicKey',
    method: 'get',
    path: '/api/public-key',
    summary: 'Show the public keys that execution tokens are signed with',
    tag: 'agents',
    access: 'agent',
    query: z.object({
      trusted: z
        .string()
        .max(2048)
        .optional()
        .meta({ description: 'The ids of the keys that the agent trusts, joined by commas.' }),
    }),
    status: 200,
    response: publicKeys,
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
