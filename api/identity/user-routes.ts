import { findUser, listUsers } from '../../db/users.js';
import { lacking } from '../../domain/lacking.js';
import { can } from '../../domain/permissions.js';
import { noFields } from '../http/fields.js';
import { type Route, route } from '../http/route.js';
import { reissueInitialToken } from './reissue.js';
import {
  activatedUser,
  createdUser,
  deletedUser,
  newUser,
  suspendedUser,
  updatedUser,
  user,
  userParams,
  userPatch,
  users,
} from './schemas.js';
import { reissued } from './token-schemas.js';
import { activateUser, deleteUser, suspendUser } from './user-status.js';
import { updateUserParts } from './user-update.js';
import { createUser, requireThere, shownUser } from './users.js';

const granting = 'You must hold every permission of the roles that you give.';

export const userRoutes: Route[] = [
  route({
    operationId: 'createUser',
    method: 'post',
    path: '/api/users',
    summary: 'Create a user with an initial token',
    tag: 'identity',
    access: 'user.write',
    accessRule: granting,
    body: newUser,
    status: 201,
    response: createdUser,
    examples: { body: { id: 'alice', roles: ['requester'], groups: ['backend-team'] } },
    errors: ['validation.failed', 'auth.forbidden', 'auth.insufficient_scope', 'user.conflict', 'plan.limit_exceeded'],
    handle: createUser,
  }),
  route({
    operationId: 'listUsers',
    method: 'get',
    path: '/api/users',
    summary: 'List users',
    tag: 'identity',
    access: 'user.read',
    status: 200,
    response: users,
    errors: ['auth.forbidden'],
    handle: async (_call, { database }) => ({ users: (await listUsers(database)).map(shownUser) }),
  }),
  route({
    operationId: 'showUser',
    method: 'get',
    path: '/api/users/:id',
    summary: 'Show a user',
    tag: 'identity',
    access: 'authenticated',
    accessRule: 'Others than yourself need `user.read`, in a role for all databases and environments.',
    params: userParams,
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
    summary: 'Change roles, groups or Slack link of a user',
    description: 'All of it is done, or nothing.',
    tag: 'identity',
    access: 'user.write',
    accessRule: granting,
    params: userParams,
    body: userPatch,
    status: 200,
    response: updatedUser,
    errors: ['validation.failed', 'auth.forbidden', 'auth.insufficient_scope', 'user.not_found', 'user.gone', 'user.conflict'],
    handle: updateUserParts,
  }),
  route({
    operationId: 'suspendUser',
    method: 'post',
    path: '/api/users/:id/suspend',
    summary: 'Suspend a user',
    description: "The user's tokens are revoked and their open requests cancelled.",
    tag: 'identity',
    access: 'user.write',
    params: userParams,
    body: noFields,
    bodyOptional: true,
    status: 200,
    response: suspendedUser,
    errors: ['validation.failed', 'auth.forbidden', 'user.not_found', 'user.gone'],
    handle: suspendUser,
  }),
  route({
    operationId: 'activateUser',
    method: 'post',
    path: '/api/users/:id/activate',
    summary: 'Make a suspended user active again',
    description: 'Tokens stay revoked.',
    tag: 'identity',
    access: 'user.write',
    params: userParams,
    body: noFields,
    bodyOptional: true,
    status: 200,
    response: activatedUser,
    errors: ['auth.forbidden', 'user.not_found', 'user.gone', 'plan.limit_exceeded'],
    handle: activateUser,
  }),
  route({
    operationId: 'deleteUser',
    method: 'delete',
    path: '/api/users/:id',
    summary: 'Delete a user for good',
    description:
      'Like a suspension, and removes the user from all groups. The record is kept, and the id can never be used again.',
    tag: 'identity',
    access: 'user.write',
    params: userParams,
    status: 200,
    response: deletedUser,
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
    accessRule: granting,
    params: userParams,
    body: noFields,
    bodyOptional: true,
    status: 200,
    response: reissued,
    errors: ['auth.forbidden', 'auth.insufficient_scope', 'user.not_found', 'user.gone', 'user.conflict', 'validation.failed'],
    handle: reissueInitialToken,
  }),
];
