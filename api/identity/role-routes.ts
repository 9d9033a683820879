import { BUILTIN_ROLES } from '../../domain/builtin-roles.js';
import type { Caller, EffectiveRole } from '../../domain/caller.js';
import { notFound } from '../../domain/errors.js';
import { requireEverywhere } from '../../domain/lacking.js';
import { findRole } from '../../domain/permissions.js';
import type { Generation } from '../context.js';
import { type Route, route } from '../http/route.js';
import { role, roleList, roleParams } from './schemas.js';

export const roleRoutes: Route[] = [
  route({
    operationId: 'listRoles',
    method: 'get',
    path: '/api/roles',
    summary: 'List built-in and custom roles with their permissions',
    tag: 'configuration',
    access: 'workflow.read',
    everywhere: true,
    status: 200,
    response: roleList,
    errors: ['auth.forbidden'],
    handle: ({ caller, generation }) => {
      checkGlobal(caller);
      return { roles: [...BUILTIN_ROLES, ...customRoles(generation)].map(shown) };
    },
  }),
  route({
    operationId: 'showRole',
    method: 'get',
    path: '/api/roles/:name',
    summary: 'Show a role',
    tag: 'configuration',
    access: 'workflow.read',
    everywhere: true,
    params: roleParams,
    status: 200,
    response: role,
    errors: ['auth.forbidden', 'role.not_found'],
    handle: ({ caller, generation, params }) => {
      checkGlobal(caller);
      const found = findRole(params.name, generation.shared.auth.roles);
      if (found === undefined) throw notFound('role');
      return shown(found);
    },
  }),
];

/** `workflow.read` is of class global for roles, and of class row elsewhere (identity 4.1). */
const checkGlobal = (caller: Caller) => requireEverywhere(caller, 'workflow.read');

const customRoles = (generation: Generation) => generation.shared.auth.roles.toSorted((a, b) => (a.name < b.name ? -1 : 1));

const shown = (held: EffectiveRole) => ({ ...held, builtin: BUILTIN_ROLES.some((known) => known.name === held.name) });
