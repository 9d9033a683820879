import { listTokens } from '../../db/tokens.js';
import { can } from '../../domain/permissions.js';
import { type Route, route } from '../http/route.js';
import { tokenParams } from './schemas.js';
import { inspect, revoke, shownToken } from './token-access.js';
import { createdToken, inspectedToken, revokedToken, tokenList } from './token-schemas.js';
import { createToken, tokenBody, tokenSubject } from './tokens.js';

export const tokenRoutes: Route[] = [
  route({
    operationId: 'createToken',
    method: 'post',
    path: '/api/tokens',
    summary: 'Create a token for yourself or for an agent',
    description: 'Its value is shown once. Unknown fields are refused.',
    tag: 'tokens',
    access: 'authenticated',
    accessRule:
      'One for yourself needs `token.create`; one for an agent `token.create_agent`, in a role for all databases and environments.',
    body: tokenSubject,
    documentedBody: tokenBody,
    status: 201,
    response: createdToken,
    examples: {
      body: {
        subject_id: 'agent-eu-1',
        subject_type: 'agent',
        name: 'first agent',
        agent_scopes: ['shop/production', 'shop/staging'],
      },
    },
    errors: ['validation.failed', 'auth.forbidden', 'auth.insufficient_scope'],
    handle: createToken,
  }),
  route({
    operationId: 'listTokens',
    method: 'get',
    path: '/api/tokens',
    summary: 'List tokens',
    tag: 'tokens',
    access: 'authenticated',
    accessRule: 'You see your own; with `token.list`, in a role for all databases and environments, those of everybody.',
    status: 200,
    response: tokenList,
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
    summary: 'Revoke a token',
    description: 'It holds at once.',
    tag: 'tokens',
    access: 'authenticated',
    accessRule: 'Your own needs `token.revoke`; those of others `token.list`, in a role for all databases and environments.',
    params: tokenParams,
    status: 200,
    response: revokedToken,
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
    accessRule: 'Those of others need `token.list`, in a role for all databases and environments.',
    params: tokenParams,
    status: 200,
    response: inspectedToken,
    errors: ['auth.forbidden', 'token.not_found'],
    handle: inspect,
  }),
];
