import { isKeyName } from '../crypto/signed-note.js';
import { webhookKey } from '../crypto/webhook-signature.js';
import { isAgentScope } from '../domain/agent-scopes.js';
import { collectorProblem } from '../domain/collector-address.js';
import { matchesEvent } from '../domain/notifications/events.js';
import { parsePermission } from '../domain/permissions.js';
import { isGroupName, isName, isRoleName, isUserId, parseSelector } from '../domain/selectors.js';
import { isHostPort } from '../lib/host-port.js';
import { unreadableUrl } from '../lib/unreadable-url.js';
import { isAddressOrCidr, isPrivateHost, refusedHost } from './addresses.js';
import type { Check } from './leaf.js';

/** The table of keys shows the problem without its first words. */
const rule = (accepts: (text: string) => boolean, problem: string): Check =>
  told((text) => (accepts(text) ? null : problem), problem.replace(/^must be /, ''));

/** A check, with its rule for the table of keys. */
export const told = (check: (text: string) => string | null, about: string): Check => Object.assign(check, { about });

const matching = (pattern: RegExp, problem: string) => rule((text) => pattern.test(text), problem);

/** CF-6. */
export const name = rule(isName, 'must be 1 to 63 characters [a-z][a-z0-9_-]*');
export const nameOrStar = rule(
  (text) => text === '*' || isName(text),
  'must be a name of 1 to 63 characters [a-z][a-z0-9_-]* or *',
);
export const nameOrStarNotAny = rule(
  (text) => text === '*' || (isName(text) && text !== 'any'),
  'must be a name of 1 to 63 characters [a-z][a-z0-9_-]* other than any, or *',
);
export const agentScope = rule(
  isAgentScope,
  'must be <database>/<environment>, each a name of 1 to 63 characters [a-z][a-z0-9_-]* or *',
);
export const userId = rule(isUserId, 'must be 1 to 128 characters of A-Z a-z 0-9 - _ @ .');
export const roleName = rule(isRoleName, 'must be 1 to 64 characters of A-Z a-z 0-9 _ . -');
export const groupName = rule(isGroupName, 'must be 1 to 256 bytes without control characters');
export const permission = told((text) => {
  const parsed = parsePermission(text);
  return typeof parsed === 'string' ? parsed : null;
}, 'permissions, with `:own` or `:any` where they take one');
export const accessEntry = rule(
  (text) => text === 'requester' || parseSelector(text) !== null,
  'must be requester or a selector user:, group: or role:',
);
export const event = told((text) => (matchesEvent(text) ? null : 'matches no event'), 'names of events, `prefix.*` or `*`');

export const hex64 = matching(/^[0-9a-f]{64}$/i, 'must be 64 hex characters');
export const logOrigin = rule(
  (text) => isKeyName(text) && text.length <= 255,
  'must be 1 to 255 characters without white space and +',
);
export const argument = told(() => null, 'a program and its arguments; no shell reads them');
export const stateDir = told(() => null, 'one for each server, else `svc server reload` reaches only the one that started last');
export const bearerToken = matching(/^[\x21-\x7e]+$/, 'must be printable ASCII without white space');
export const apiToken = matching(/^svc_[0-9a-f]{32}$/, 'must be svc_ and 32 lower-case hex characters');
export const webhookId = matching(
  /^(?=.{1,64}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
  'must be 1 to 64 characters of a-z 0-9 -, no - at the ends',
);
export const slackChannel = matching(/^(#[^\s#@,]{1,80}|[CGD][A-Z0-9]{2,})$/, 'must be #name or a channel id');
export const semanticVersion = matching(
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/,
  'must be a semantic version such as 1.2.3',
);

export const hostPort = rule(isHostPort, 'must be host:port');
export const addressOrCidr = rule(isAddressOrCidr, 'must be an IP address or CIDR range');

export const databaseUrl = told((text) => {
  if (!/^postgres(ql)?:\/\//.test(text)) return 'must be a postgres:// or postgresql:// address';
  return URL.canParse(text) ? null : unreadableUrl;
}, 'a postgres:// or postgresql:// address');
export const httpUrl = rule((text) => parseHttp(text) !== null, 'must be an http or https address');

/** Plain http only where nothing leaves the machine or the local network. */
export const guardedUrl = told((text) => {
  const url = parseHttp(text);
  if (url === null) return 'must be an http or https address';
  return url.protocol === 'https:' || isPrivateHost(url.hostname) ? null : 'must be https, except for loopback and private hosts';
}, 'an https address; http for loopback and private hosts');

/** Scheme, host and port, and nothing after them. */
export const origin = rule(
  (text) => parseHttp(text) !== null && /^https?:\/\/[^/?#@\s*]+$/i.test(text),
  'must be scheme://host[:port] and nothing after',
);

/** NT-40. Private addresses are judged where `allow_private_networks` is known. */
export const webhookUrl = told((text) => {
  const url = parseHttp(text);
  if (url === null) return 'must be an http or https address';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return text.includes('#') ? 'must not have a fragment' : null;
}, 'an http or https address without user name and fragment');

/** AU-89. A private address is an operator's choice; link-local and metadata addresses are refused as they are written. */
export const anchorUrl = told((text) => {
  const problem = webhookUrl(text);
  if (problem !== null) return problem;
  return refusedHost(new URL(text).hostname, true) === null ? null : 'must not be a link-local or metadata address';
}, 'an http or https address without user name and fragment, not link-local');

/** OP-94. Whether plain http may leave the machine is judged where `allow_insecure` is known. */
export const collectorUrl = told((text) => {
  const problem = collectorProblem(text, true);
  if (problem !== null) return problem;
  return refusedHost(new URL(text).hostname, true) === null ? null : 'must not be a link-local or metadata address';
}, 'an https address, or http on this machine; elsewhere http needs `allow_insecure`');

/** NT-31. */
export const webhookSecret = told((text) => {
  const isMalformed = text.startsWith('whsec_') && webhookKey(text) === null;
  return isMalformed ? 'must have base64 of 24 to 64 bytes after whsec_' : null;
}, '`whsec_` and base64 of 24 to 64 bytes, or a text; one shorter than 16 characters gives a warning');

function parseHttp(text: string): URL | null {
  if (!/^https?:\/\/[^\s]+$/i.test(text) || !URL.canParse(text)) return null;
  return new URL(text);
}
