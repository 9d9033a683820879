import { z } from 'zod';
import { findUser, listUsers } from '../../db/users.js';
import { forbidden } from '../../domain/errors.js';
import { can } from '../../domain/permissions.js';
import { createUser, reissueInitialToken, requireThere, shownUser } from '../identity/users.js';
import { type Route, route } from '../route.js';
import { groupNames, idParams, noFields, reissued, roleNames, user, userId } from './identity-schemas.js';

export const userRoutes: Route[] = [
  route({
    operationId: 'createUser',
    method: 'post',
    path: '/api/users',
    summary: 'Create a user with an initial token',
    tag: 'identity',
    access: 'user.write',
    body: z.object({ id: userId, roles: roleNames.default([]), groups: groupNames.default([]) }),
    status: 201,
    response: z.object({
      id: z.string(),
      token: z.string(),
      token_prefix: z.string(),
      roles: z.array(z.string()),
      groups: z.array(z.string()),
    }),
    errors: ['validation.failed', 'auth.forbidden', 'auth.insufficient_scope', 'user.conflict', 'plan.limit_exceeded'],
    handle: createUser,
  }),
  route({
    operationId: 'listUsers',
    method: 'get',
    path: '/api/users',
    summary: 'List users, newest first',
    tag: 'identity',
    access: 'user.read',
    status: 200,
    response: z.object({ users: z.array(user) }),
    errors: ['auth.forbidden'],
    handle: async (_call, { database }) => ({ users: (await listUsers(database)).map(shownUser) }),
  }),
  route({
    operationId: 'showUser',
    method: 'get',
    path: '/api/users/:id',
    summary: 'Show a user; everybody may see themselves',
    tag: 'identity',
    access: 'authenticated',
    params: idParams,
    status: 200,
    response: user,
    errors: ['auth.forbidden', 'user.not_found', 'user.gone'],
    handle: async ({ caller, params }, { database }) => {
      if (params.id !== caller.id && !can(caller, 'user.read', 'everywhere')) throw forbidden();
      const found = await findUser(database, params.id);
      requireThere(found);
      return shownUser(found);
    },
  }),
  route({
    operationId: 'reissueInitialToken',
    method: 'post',
    path: '/api/users/:id/reissue-initial-token',
    summary: "Replace a user's initial token",
    tag: 'identity',
    access: 'token.reissue',
    params: idParams,
    body: noFields,
    bodyOptional: true,
    status: 200,
    response: reissued,
    errors: ['auth.forbidden', 'auth.insufficient_scope', 'user.not_found', 'user.gone', 'user.conflict', 'validation.failed'],
    handle: reissueInitialToken,
  }),
];
