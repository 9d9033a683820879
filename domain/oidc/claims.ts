import { isRecord } from '../../lib/record.js';
import { latestInstant } from '../instant.js';
import { isGroupName, isReservedId, isUserId } from '../selectors.js';

/** `[auth.oidc]` as far as claims are checked by it. */
export interface ClaimRules {
  issuer: string;
  clientId: string | null;
  audience: string | null;
  subjectClaim: string;
  groupsClaim: string;
  roleMappings: readonly { claim: string; value: string; role: string }[];
}

/** Who a verified token speaks of, and what its provider says of them for this call. */
export interface Login {
  subject: string;
  groups: string[];
  /** Of all mappings that match (IM-36). */
  mappedRoles: string[];
  displayName: string | null;
  email: string | null;
  /** When the token ends. */
  expiresAt: number;
}

export type ClaimFault = 'issuer' | 'audience' | 'expired' | 'not_yet_valid' | 'subject';

type Claims = Readonly<Record<string, unknown>>;

const toleranceMs = 30_000;
/** Longer names and addresses are ignored. */
const maxProfile = 256;

/** Checks the claims of a token whose signature fits (IM-31). `now` is in milliseconds. */
export function checkClaims(claims: Claims, rules: ClaimRules, now: number): Login | ClaimFault {
  const { iss, aud, exp, nbf, sub } = claims;
  if (iss !== rules.issuer) return 'issuer';
  const audience = rules.clientId ?? rules.audience;
  if (audience === null || !isOrHas(aud, audience)) return 'audience';
  if (!isTime(exp) || now > exp * 1000 + toleranceMs) return 'expired';
  if (nbf !== undefined && (!isTime(nbf) || now < nbf * 1000 - toleranceMs)) return 'not_yet_valid';
  const subject = claimAt(claims, rules.subjectClaim);
  if (typeof sub !== 'string' || typeof subject !== 'string' || !isUserId(subject) || isReservedId(subject)) return 'subject';
  // An address that nobody has checked could be anybody's.
  if (rules.subjectClaim === 'email' && !isVerified(claims.email_verified)) return 'subject';
  return {
    subject,
    groups: [...new Set(textsOf(claimAt(claims, rules.groupsClaim)).filter(isGroupName))],
    mappedRoles: rules.roleMappings.filter(({ claim, value }) => isOrHas(claimAt(claims, claim), value)).map(({ role }) => role),
    displayName: profileText(claims.name),
    email: profileText(claims.email),
    expiresAt: Math.min(Math.floor(exp * 1000), latestInstant),
  };
}

/** A claim by its name, or else by a dotted path: `realm.roles`. Only what the token itself holds counts. */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split('.')) {
    if (!isRecord(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** Some providers send texts. Those that send nothing vouch for every address that they have. */
const isVerified = (value: unknown) => value === undefined || value === true || value === 'true';

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

const textsOf = (value: unknown): string[] => [value].flat().filter((one) => typeof one === 'string');

const isOrHas = (value: unknown, wanted: string) => [value].flat().includes(wanted);

/** PostgreSQL stores no U+0000. */
const profileText = (value: unknown) =>
  typeof value === 'string' && value !== '' && value.length <= maxProfile && !value.includes('\0') ? value : null;
