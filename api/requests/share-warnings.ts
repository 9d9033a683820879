import { findUnknownNames } from '../../db/unknown-names.js';
import { findRole } from '../../domain/permissions.js';
import { normaliseShareWith, parseSelector, type SelectorKind } from '../../domain/selectors.js';
import type { Generation, Services } from '../context.js';

/**
 * The entries of `share_with` that reach nobody. Such a request is accepted, since the user or member may come later. Groups are not judged where an
 * identity provider has its own.
 */
export async function shareWarnings(services: Services, generation: Generation, shareWith: readonly string[]): Promise<string[]> {
  const named = normaliseShareWith(shareWith).flatMap((selector) => parseSelector(selector) ?? []);
  if (named.length === 0) return [];
  const namesOf = (kind: SelectorKind) => named.filter((one) => one.kind === kind).map(({ name }) => name);
  const { roles, groups } = generation.shared.auth;
  const judged = namesOf('group').filter(
    (name) => services.config().auth.oidc === null && !groups.some((one) => one.name === name),
  );
  const unknown = await findUnknownNames(services.database, namesOf('user'), judged);
  return [
    ...unknown.users.map((id) => `share_with: there is no active user ${id}`),
    ...unknown.groups.map((name) => `share_with: there is no group ${name}`),
    ...namesOf('role')
      .filter((name) => findRole(name, roles) === undefined)
      .map((name) => `share_with: there is no role ${name}`),
  ];
}
