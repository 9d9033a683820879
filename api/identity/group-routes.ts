import { listMembers } from '../../db/users.js';
import { notFound } from '../../domain/errors.js';
import { type Route, route } from '../http/route.js';
import { group, groupList, groupParams } from './schemas.js';

export const groupRoutes: Route[] = [
  route({
    operationId: 'listGroups',
    method: 'get',
    path: '/api/groups',
    summary: 'List the names of the configured groups',
    tag: 'identity',
    access: 'user.read',
    status: 200,
    response: groupList,
    errors: ['auth.forbidden'],
    handle: ({ generation }) => ({ groups: generation.shared.auth.groups.map(({ name }) => name).sort() }),
  }),
  route({
    operationId: 'showGroup',
    method: 'get',
    path: '/api/groups/:name',
    summary: 'Show a group with its roles and members',
    tag: 'identity',
    access: 'user.read',
    params: groupParams,
    status: 200,
    response: group,
    errors: ['auth.forbidden', 'group.not_found'],
    handle: async ({ generation, params }, { database }) => {
      const found = generation.shared.auth.groups.find(({ name }) => name === params.name);
      if (found === undefined) throw notFound('group');
      return { name: found.name, roles: [...found.roles], members: await listMembers(database, found.name) };
    },
  }),
];
