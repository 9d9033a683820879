import type { Caller, CallerOrigins, Origins, UserCaller } from './caller.js';

/** Who granted something; stored beside what was granted. */
export interface Grant {
  by: string;
  /** The id of the API token that was used; null for the gateway itself and for a JWT. */
  token: string | null;
  origins: Origins;
}

/** For callers with no known creator and no known grants. */
export const noOrigins: CallerOrigins = { account: [], credential: [], groups: new Map(), roles: new Map() };

const anybody = '*';
const maxOrigins = 64;

export const systemGrant: Grant = { by: 'system', token: null, origins: [] };

/**
 * What a caller who grants, creates or issues leaves behind. All origins are copied flat, so that later changes to accounts or tokens erase nothing.
 */
export function grantBy(caller: Caller): Grant {
  const own = caller.kind === 'agent' ? [] : [caller.id, ...caller.origins.account, ...caller.origins.credential];
  return { by: caller.id, token: caller.tokenId, origins: bounded([...new Set(own)]) };
}

/** The same grant of what was handed over on a way that others made: they may be who got it. */
export const handedOver = (grant: Grant, wayMadeBy: Origins): Grant => ({
  ...grant,
  origins: bounded([...new Set([...grant.origins, ...wayMadeBy])]),
});

const bounded = (origins: Origins): Origins => (origins.length > maxOrigins || origins.includes(anybody) ? [anybody] : origins);

const goesBackTo = (origins: Origins, id: string) => origins.includes(id) || origins.includes(anybody);

/** Requesters whose requests the caller never approves, whatever the selector: those behind the caller's account or credential. */
export const callerTies = ({ origins }: UserCaller): Origins =>
  bounded([...new Set([...origins.account, ...origins.credential])]);

/** Requesters for whom a selector that matches the caller does not count: those behind every way in which it matches. */
export function selectorTies({ origins }: UserCaller, selector: string): Origins {
  const [kind, name] = [selector.slice(0, selector.indexOf(':')), selector.slice(selector.indexOf(':') + 1)];
  const ways = { group: [origins.groups.get(name) ?? []], role: origins.roles.get(name) ?? [] }[kind] ?? [];
  return ways.length === 0 ? [] : ways.reduce(common);
}

function common(a: Origins, b: Origins): Origins {
  if (a.includes(anybody)) return b;
  return b.includes(anybody) ? a : a.filter((id) => b.includes(id));
}

/** Why the caller may not approve requests of this requester; null when nothing ties them. */
export function tieToRequester({ origins, tokenId }: UserCaller, requester: string): string | null {
  if (goesBackTo(origins.account, requester)) return 'the requester created your account, directly or through others';
  if (!goesBackTo(origins.credential, requester)) return null;
  return tokenId === null
    ? 'the requester linked your Slack account, directly or through others: use a token of your own'
    : 'the requester issued the token you use, or linked the Slack account that it went to, directly or through others: use one of your own';
}

/** Whether anybody but the requester granted a selector that matches the caller. */
export const countsFor = (caller: UserCaller, selector: string, requester: string): boolean =>
  !goesBackTo(selectorTies(caller, selector), requester);
