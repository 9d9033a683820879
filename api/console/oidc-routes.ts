import { z } from 'zod';
import { flag, named, text } from '../http/fields.js';
import { type Route, route } from '../http/route.js';
import { finishLogin, oidcClient, startLogin } from './oidc.js';
import { checkOn } from './page.js';

const shared = { method: 'get', tag: 'console', access: 'public', checkOn } as const;
const page = {
  ...shared,
  isPage: true,
  status: 302,
  response: z.string(),
  mediaTypes: ['text/html'],
  errors: ['route.not_found', 'rate.limited'],
} as const;

/** Signing in at an identity provider (CO-14). */
export const oidcRoutes: Route[] = [
  route({
    ...shared,
    operationId: 'showSignIn',
    path: '/api/console/sign-in',
    summary: 'Show how a browser can sign in, besides with a token',
    status: 200,
    response: named('SignIn', 'How a browser can sign in.', {
      oidc: flag('Whether `/api/console/oidc/start` leads to an identity provider.'),
    }),
    errors: ['route.not_found'],
    handle: (_call, { config }) => ({ oidc: oidcClient(config()) !== null }),
  }),
  route({
    ...page,
    operationId: 'startSignIn',
    path: '/api/console/oidc/start',
    summary: 'Go to the identity provider',
    query: z.object({ return_to: text('A path below `/console/`.', { maxLength: 1024 }).optional() }),
    handle: startLogin,
  }),
  route({
    ...page,
    operationId: 'finishSignIn',
    path: '/api/console/oidc/callback',
    summary: 'Come back from the identity provider',
    handle: finishLogin,
  }),
];
