import { shortStep, shortText } from '../domain/approvable.js';
import type { Pair } from '../domain/caller.js';
import type { WorkflowPolicy } from '../domain/policies.js';
import { parseSelector, type SelectorKind } from '../domain/selectors.js';
import type { StoredUser } from '../domain/stored-caller.js';
import { slackCaller } from '../domain/stored-caller.js';

/** What decides who matches a selector. */
interface AuthSettings {
  shared: { auth: Parameters<typeof slackCaller>[1] };
  /** With an identity provider, groups and roles come with each login, and nobody knows beforehand who will match. */
  hasProvider: boolean;
}

type List = (named: { users: string[]; groups: string[]; roles: string[] }, limit: number) => Promise<StoredUser[]>;

/** A step that so many users may approve is not short of approvers. */
const enough = 200;

/** Why nobody could approve under this policy as things are; null when somebody can, and when it is not known. */
export async function approverShortage(
  { shared: { auth }, hasProvider }: AuthSettings,
  policy: WorkflowPolicy,
  { pair, requester }: { pair: Pair; requester: string | null },
  list: List,
): Promise<string | null> {
  const named = policy.steps.flatMap(({ approvers }) => approvers.flatMap(({ selector }) => parseSelector(selector) ?? []));
  const namesOf = (kind: SelectorKind) => named.filter((one) => one.kind === kind).map(({ name }) => name);
  const roles = namesOf('role');
  // Whoever has no other role has the default one.
  if (hasProvider || named.length === 0 || (auth.defaultRole !== null && roles.includes(auth.defaultRole))) return null;
  const givers = auth.groups.filter((group) => group.roles.some((role) => roles.includes(role))).map(({ name }) => name);
  const found = await list({ users: namesOf('user'), groups: [...namesOf('group'), ...givers], roles }, enough);
  if (found.length === enough) return null;
  const people = found.flatMap((user) => {
    const caller = slackCaller({ ...user, linkOrigins: [] }, auth);
    return caller === 'no_roles' ? [] : [caller];
  });
  const short = shortStep(policy, pair, requester, people);
  return short === null ? null : shortText(policy, short, requester);
}
