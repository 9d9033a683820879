import type { Config } from '../config/types.js';
import { readLicense } from '../crypto/license-key.js';
import { type License, type Limits, planAt } from '../domain/license.js';

/** The licence of the configuration, expired or not; null without one. */
export function licenseOf({ license: { key, publicKey } }: Pick<Config, 'license'>): License | null {
  if (key === null || publicKey === null) return null;
  const license = readLicense(key, publicKey);
  return typeof license === 'string' ? null : license;
}

/** OP-40, OP-45: the limits of the plan in force at `now` (milliseconds since the epoch). */
export const planLimits = (config: Pick<Config, 'license'>, now: number): Limits => planAt(licenseOf(config), now).limits;
