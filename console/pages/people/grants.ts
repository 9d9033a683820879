import { asTheyAre } from '../../format/filter-fields.js';
import { answer, api } from '../../http/client.js';
import type { FieldOf } from '../../parts/fields.js';
import { useLoaded } from '../../state/loaded.js';
import { session } from '../../state/session.js';

/** What a user has or can get. */
export interface Grants {
  roles: readonly string[];
  groups: readonly string[];
}

/** What there is to give. Who may not see all roles is offered their own: nobody can give more than they hold. */
export function useGrants(): Grants {
  const own = session.value?.roles ?? [];
  const { value } = useLoaded('grants', async (signal) => {
    const [roles, groups] = await Promise.all([
      answer(api.GET('/api/roles', { signal })).then(
        (found) => found.roles.map(({ name }) => name),
        () => own,
      ),
      answer(api.GET('/api/groups', { signal })).then(
        (found) => found.groups,
        () => [],
      ),
    ]);
    return { roles, groups };
  });
  return value ?? { roles: own, groups: [] };
}

/** The fields to choose them; what the user `has` can be taken away also where it is no longer in the configuration. */
export const grantFields = (there: Grants, has: Grants = { roles: [], groups: [] }): FieldOf[] => [
  { name: 'roles', label: 'Roles', isMany: true, choices: asTheyAre(union(there.roles, has.roles)) },
  { name: 'groups', label: 'Groups', isMany: true, choices: asTheyAre(union(there.groups, has.groups)) },
];

const union = (...lists: (readonly string[])[]) => [...new Set(lists.flat())].sort();
