import { z } from 'zod';
import { listTokens } from '../../db/tokens.js';
import { can } from '../../domain/permissions.js';
import { type Route, route } from '../http/route.js';
import { createdToken, idParams, inspectedToken, listedToken } from './schemas.js';
import { inspect, revoke, shownToken } from './token-access.js';
import { createToken, tokenBody, tokenSubject } from './tokens.js';

export const tokenRoutes: Route[] = [
  route({
    operationId: 'createToken',
    method: 'post',
    path: '/api/tokens',
    summary: 'Create a token for yourself or for an agent; the raw value is shown once',
    tag: 'tokens',
    access: 'authenticated',
    body: tokenSubject,
    documentedBody: tokenBody,
    status: 201,
    response: createdToken,
    errors: ['validation.failed', 'auth.forbidden', 'auth.insufficient_scope'],
    handle: createToken,
  }),
  route({
    operationId: 'listTokens',
    method: 'get',
    path: '/api/tokens',
    summary: 'List your tokens, or with token.list those of everybody, newest first',
    tag: 'tokens',
    access: 'authenticated',
    status: 200,
    response: z.object({ tokens: z.array(listedToken) }),
    errors: ['auth.forbidden'],
    handle: async ({ caller }, { database }) => {
      const ofUser = can(caller, 'token.list', 'everywhere') ? null : caller.id;
      return { tokens: (await listTokens(database, ofUser)).map(shownToken) };
    },
  }),
  route({
    operationId: 'revokeToken',
    method: 'delete',
    path: '/api/tokens/:id',
    summary: 'Revoke a token at once',
    tag: 'tokens',
    access: 'authenticated',
    params: idParams,
    status: 200,
    response: z.object({ id: z.string(), revoked_at: z.string().meta({ format: 'date-time' }) }),
    errors: ['auth.forbidden', 'token.not_found'],
    handle: revoke,
  }),
  route({
    operationId: 'inspectToken',
    method: 'get',
    path: '/api/tokens/:id/inspect',
    summary: 'Show what a token may do',
    tag: 'tokens',
    access: 'authenticated',
    params: idParams,
    status: 200,
    response: inspectedToken,
    errors: ['auth.forbidden', 'token.not_found'],
    handle: inspect,
  }),
];
