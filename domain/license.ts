import { isRecord } from '../lib/record.js';
import { parseInstant } from './instant.js';

/** What a plan allows; null = no limit (OP-40). There is no other table of limits. */
export const PLANS = {
  free: { maxUsers: 20, maxDatabases: 3, oidc: false },
  team: { maxUsers: 50, maxDatabases: 20, oidc: true },
} as const;

export type PlanName = keyof typeof PLANS;

export interface Limits {
  maxUsers: number | null;
  maxDatabases: number | null;
  oidc: boolean;
}

/** Times in milliseconds since the epoch. */
export interface License {
  keyId: string;
  plan: PlanName;
  issuedTo: string;
  issuedAt: number;
  /** From this instant the plan in effect is `free` (OP-45). */
  expiresAt: number;
  limits: Limits;
}

const isPlan = (name: unknown): name is PlanName => typeof name === 'string' && Object.hasOwn(PLANS, name);

/** What the payload of a licence key says (OP-43); null if it is not one. Unknown keys are ignored. */
export function readPayload(payload: unknown): License | null {
  if (!isRecord(payload)) return null;
  const { key_id: keyId, plan, issued_to: issuedTo, issued_at, expires_at, limits = {} } = payload;
  const [issuedAt, expiresAt] = [instantOf(issued_at), instantOf(expires_at)];
  if (typeof keyId !== 'string' || !isPlan(plan) || typeof issuedTo !== 'string') return null;
  if (issuedAt === null || expiresAt === null || !isRecord(limits)) return null;
  const { max_users, max_databases } = limits;
  if (!isLimit(max_users) || !isLimit(max_databases)) return null;
  const own = PLANS[plan];
  return {
    keyId,
    plan,
    issuedTo,
    issuedAt,
    expiresAt,
    limits: {
      maxUsers: max_users === undefined ? own.maxUsers : max_users,
      maxDatabases: max_databases === undefined ? own.maxDatabases : max_databases,
      oidc: own.oidc,
    },
  };
}

/** The plan in effect at `now` (OP-45). */
export const planAt = (license: License | null, now: number): { plan: PlanName; limits: Limits } =>
  license === null || now >= license.expiresAt ? { plan: 'free', limits: PLANS.free } : license;

const instantOf = (value: unknown) => (typeof value === 'string' ? parseInstant(value) : null);

const isLimit = (value: unknown): value is number | null | undefined =>
  value === undefined || value === null || (Number.isSafeInteger(value) && (value as number) >= 0);
