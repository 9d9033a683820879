import { isoOrNull } from '../../db/row-types.js';
import { findToken } from '../../db/tokens.js';
import { findUser } from '../../db/users.js';
import { invalidToken, refusal } from '../../domain/errors.js';
import { permissionTexts } from '../../domain/role-names.js';
import { type Route, route } from '../http/route.js';
import { shownCeiling } from './events.js';
import { me } from './schemas.js';

export const meRoutes: Route[] = [
  route({
    operationId: 'showMe',
    method: 'get',
    path: '/api/me',
    summary: 'Show who you are and what you may do',
    tag: 'identity',
    access: 'authenticated',
    status: 200,
    response: me,
    errors: [],
    handle: async ({ caller }, { database }) => {
      // Unreachable: HT-11 keeps agents out.
      if (caller.kind === 'agent') throw refusal('auth.forbidden', 'agent tokens cannot access this endpoint');
      const [user, token] = await Promise.all([
        findUser(database, caller.id),
        caller.tokenId === null ? undefined : findToken(database, caller.tokenId),
      ]);
      if (user === undefined) throw invalidToken();
      return {
        subject_id: user.id,
        subject_type: 'user' as const,
        display_name: user.displayName,
        email: user.email,
        source: user.source,
        slack_user_id: user.slackUserId,
        roles: caller.roles.map((role) => ({ ...role, permissions: permissionTexts([role]) })),
        groups: caller.memberOf,
        token:
          token === undefined
            ? null
            : {
                id: token.id,
                name: token.name,
                scope_ceiling: shownCeiling(token.scopeCeiling),
                expires_at: isoOrNull(token.expiresAt),
              },
      };
    },
  }),
];
