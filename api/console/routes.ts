import { z } from 'zod';
import { isoOrNull } from '../../db/row-types.js';
import { findUser } from '../../db/users.js';
import { refusal } from '../../domain/errors.js';
import { permissionTexts, roleNamesOf } from '../../domain/role-names.js';
import { boundedText, instant, named, text, userIdText } from '../http/fields.js';
import { type Route, route } from '../http/route.js';
import { expiresAt, permissions, rolesOf } from '../identity/schemas.js';
import { makeCode } from './code.js';
import { checkOn } from './page.js';
import { signIn, signOut } from './sign-in.js';

const newSession = z
  .object({
    token: boundedText(8192, 'The API token of a user, or a token of the identity provider.').min(1).optional(),
    code: boundedText(200, 'A code of `POST /api/console/code`.').min(1).optional(),
  })
  .refine(({ token, code }) => (token === undefined) !== (code === undefined), 'must have a token or a code')
  .meta({ id: 'NewSession', description: 'What a session is made from: a token or a code.' });

const madeCode = named('SessionCode', 'A code that signs a browser in once.', {
  code: text('The code. It is shown this once.'),
  expires_at: instant('When it expires.'),
});

const shownSession = named('Session', 'Who is signed in, and what they may do.', {
  subject_id: userIdText('Your id.'),
  display_name: text('The name that is shown to others.').nullable(),
  roles: rolesOf('Your roles within this session.'),
  permissions: permissions('What they allow.'),
  expires_at: expiresAt.meta({ description: 'When the session ends.' }),
  version: text('The version of the server.'),
});

const session = { path: '/api/console/session', tag: 'console', checkOn } as const;

/** `/api/console` (console.md section 2). */
export const consoleRoutes: Route[] = [
  route({
    ...session,
    operationId: 'signIn',
    method: 'post',
    summary: 'Sign in a browser',
    description:
      'The answer sets a cookie that scripts cannot read. With it the browser calls what is below `/api/` as the user of the credential; what changes something must come from a page of this server. An `Authorization` header wins over it.',
    access: 'public',
    accessRule: 'The body carries it.',
    body: newSession,
    status: 204,
    response: z.undefined(),
    errors: [
      ...(['auth.missing_token', 'auth.invalid_token', 'auth.token_expired', 'auth.user_suspended', 'auth.forbidden'] as const),
      ...(['auth.oidc_not_configured', 'auth.oidc_failed', 'auth.no_roles_resolved', 'auth.insufficient_scope'] as const),
      ...(['plan.limit_exceeded', 'route.not_found'] as const),
    ],
    handle: signIn,
  }),
  route({
    ...session,
    operationId: 'showSession',
    method: 'get',
    summary: 'Show who is signed in',
    access: 'authenticated',
    status: 200,
    response: shownSession,
    errors: ['route.not_found'],
    handle: async ({ caller, expiresAt: at }, { database, version }) => {
      // Unreachable: HT-11 keeps agents out.
      if (caller.kind === 'agent') throw refusal('auth.forbidden', 'agent tokens cannot access this endpoint');
      const user = await findUser(database, caller.id);
      return {
        subject_id: caller.id,
        display_name: user?.displayName ?? null,
        roles: roleNamesOf(caller.roles),
        permissions: permissionTexts(caller.roles),
        expires_at: isoOrNull(at),
        version,
      };
    },
  }),
  route({
    ...session,
    operationId: 'signOut',
    method: 'delete',
    summary: 'Sign out a browser',
    description: 'Its session ends at once. Without one there is nothing to do.',
    access: 'public',
    status: 204,
    response: z.undefined(),
    errors: ['auth.forbidden', 'route.not_found'],
    handle: signOut,
  }),
  route({
    operationId: 'makeSessionCode',
    method: 'post',
    path: '/api/console/code',
    summary: 'Create a code that signs a browser in',
    description:
      'It works once, within a minute, and makes a session as `POST /api/console/session` makes it from the token of this call. `svc console` puts it behind the `#` of a link, so that it is sent to no server but by the page.',
    tag: 'console',
    checkOn,
    access: 'authenticated',
    accessRule: 'It must be a token, not the session of a browser.',
    status: 201,
    response: madeCode,
    errors: ['auth.forbidden', 'route.not_found'],
    handle: makeCode,
  }),
];
