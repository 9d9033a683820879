import { z } from 'zod';
import { listMembers } from '../../db/users.js';
import { notFound } from '../../domain/errors.js';
import { type Route, route } from '../http/route.js';

export const groupRoutes: Route[] = [
  route({
    operationId: 'listGroups',
    method: 'get',
    path: '/api/groups',
    summary: 'List the names of the configured groups',
    tag: 'identity',
    access: 'user.read',
    status: 200,
    response: z.object({ groups: z.array(z.string()) }),
    errors: ['auth.forbidden'],
    handle: ({ generation }) => ({ groups: generation.shared.auth.groups.map(({ name }) => name).sort() }),
  }),
  route({
    operationId: 'showGroup',
    method: 'get',
    path: '/api/groups/:name',
    summary: 'Show a group: its roles, and its members in order of joining',
    tag: 'identity',
    access: 'user.read',
    params: z.object({ name: z.string() }),
    status: 200,
    response: z.object({ name: z.string(), roles: z.array(z.string()), members: z.array(z.string()) }),
    errors: ['auth.forbidden', 'group.not_found'],
    handle: async ({ generation, params }, { database }) => {
      const group = generation.shared.auth.groups.find(({ name }) => name === params.name);
      if (group === undefined) throw notFound('group');
      return { name: group.name, roles: [...group.roles], members: await listMembers(database, group.name) };
    },
  }),
];
