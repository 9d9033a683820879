import { type License, PLANS, readLicense } from '../config/license.js';
import type { Config } from '../config/types.js';

/** OP-40, OP-45: the limits of the plan in force at `now` (milliseconds since the epoch); null = no limit. */
export function planLimits({ license }: Pick<Config, 'license'>, now: number): License['limits'] {
  if (license.key === null || license.publicKey === null) return PLANS.free;
  const read = readLicense(license.key, license.publicKey);
  return typeof read === 'string' || now >= read.expiresAt.getTime() ? PLANS.free : read.limits;
}
