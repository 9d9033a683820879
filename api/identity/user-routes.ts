import { z } from 'zod';
import { findUser, listUsers } from '../../db/users.js';
import { lacking } from '../../domain/lacking.js';
import { can } from '../../domain/permissions.js';
import { type Route, route } from '../http/route.js';
import { reissueInitialToken } from './reissue.js';
import { idParams, newUser, noFields, reissued, user, userPatch } from './schemas.js';
import { activateUser, deleteUser, suspendUser } from './user-status.js';
import { updateUserParts } from './user-update.js';
import { createUser, requireThere, shownUser } from './users.js';

const status = z.enum(['active', 'suspended']);
const cancelledRequests = z
  .array(z.string())
  .meta({ description: 'every request that had not ended; running ones end when their agent has stopped' });

export const userRoutes: Route[] = [
  route({
    operationId: 'createUser',
    method: 'post',
    path: '/api/users',
    summary: 'Create a user with an initial token',
    tag: 'identity',
    access: 'user.write',
    body: newUser,
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
      if (params.id !== caller.id && !can(caller, 'user.read', 'everywhere')) throw lacking(['user.read']);
      const found = await findUser(database, params.id);
      requireThere(found);
      return shownUser(found);
    },
  }),
  route({
    operationId: 'updateUser',
    method: 'patch',
    path: '/api/users/:id',
    summary: 'Change roles, groups or Slack link of a user, all or nothing',
    tag: 'identity',
    access: 'user.write',
    params: idParams,
    body: userPatch,
    status: 200,
    response: z.object({
      id: z.string(),
      updated: z.boolean(),
      roles: z.array(z.string()),
      groups: z.array(z.string()),
      slack_user_id: z.string().nullable(),
      status,
    }),
    errors: ['validation.failed', 'auth.forbidden', 'auth.insufficient_scope', 'user.not_found', 'user.gone', 'user.conflict'],
    handle: updateUserParts,
  }),
  route({
    operationId: 'suspendUser',
    method: 'post',
    path: '/api/users/:id/suspend',
    summary: 'Suspend a user: tokens are revoked and requests cancelled with it',
    tag: 'identity',
    access: 'user.write',
    params: idParams,
    body: noFields,
    bodyOptional: true,
    status: 200,
    response: z.object({ id: z.string(), revoked_tokens: z.int(), cancelled_requests: cancelledRequests }),
    errors: ['validation.failed', 'auth.forbidden', 'user.not_found', 'user.gone'],
    handle: suspendUser,
  }),
  route({
    operationId: 'activateUser',
    method: 'post',
    path: '/api/users/:id/activate',
    summary: 'Make a suspended user active again; tokens stay revoked',
    tag: 'identity',
    access: 'user.write',
    params: idParams,
    body: noFields,
    bodyOptional: true,
    status: 200,
    response: z.object({ id: z.string(), status: z.literal('active') }),
    errors: ['auth.forbidden', 'user.not_found', 'user.gone', 'plan.limit_exceeded'],
    handle: activateUser,
  }),
  route({
    operationId: 'deleteUser',
    method: 'delete',
    path: '/api/users/:id',
    summary: 'Delete a user for good: as suspend, and out of all groups; the record is kept and the id never free again',
    tag: 'identity',
    access: 'user.write',
    params: idParams,
    status: 200,
    response: z.object({
      id: z.string(),
      deleted: z.literal(true),
      revoked_tokens: z.int(),
      cancelled_requests: cancelledRequests,
    }),
    errors: ['validation.failed', 'auth.forbidden', 'user.not_found', 'user.gone'],
    handle: deleteUser,
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
