import type { EffectiveRole } from './caller.js';

/** `perm`, `perm:any`, or `*`: the spelling of `[[auth.roles]]`, sorted and without repeats. */
export function permissionTexts(roles: readonly EffectiveRole[]): string[] {
  const texts = roles.flatMap((role) =>
    role.permissions.map(({ perm, ownership }) => (perm === '*' || ownership === 'own' ? perm : `${perm}:any`)),
  );
  return [...new Set(texts)].sort();
}

export const roleNamesOf = (roles: readonly EffectiveRole[]) => roles.map((role) => role.name);
