import { z } from 'zod';
import { isoOrNull } from '../../db/row-types.js';
import { rememberKeyOfAgent } from '../../db/signing-keys.js';
import { type Route, route } from '../route.js';

export const publicKeyRoutes: Route[] = [
  route({
    operationId: 'showPublicKey',
    method: 'get',
    path: '/api/public-key',
    summary: 'Show the public keys that execution tokens are signed with',
    tag: 'agents',
    access: 'agent',
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
    errors: [],
    handle: async ({ caller }, { database, signingKeys }) => {
      const keys = await signingKeys.publicKeys();
      const current = keys.find(({ status }) => status === 'current');
      if (current === undefined) throw new Error('no current signing key');
      await database.transaction((tx) => rememberKeyOfAgent(tx, caller.id, current.keyId));
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
