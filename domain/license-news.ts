import { type AuditDraft, systemActor } from './audit/draft.js';
import { type License, type PlanName, planAt } from './license.js';
import { bareNotice, type Notice } from './notifications/notice.js';

/** Events about a licence key, each told once (OP-45). */
export type LicenseEvent = 'license_grace_warning' | 'license_downgraded';

export interface LicenseNews {
  /** In effect now. */
  plan: PlanName;
  notices: (Notice & { event: LicenseEvent })[];
  events: AuditDraft[];
}

const dayMs = 86_400_000;
const graceMs = 3 * dayMs;

/** What there is to tell at `now`: `before` is the plan that was in effect at the last look, `told` what this key has been told of already. */
export function licenseNews(
  license: License | null,
  now: number,
  { before, told }: { before: PlanName; told: readonly LicenseEvent[] },
): LicenseNews {
  const { plan } = planAt(license, now);
  const notices = license === null ? [] : due(license, now).filter(({ event }) => !told.includes(event));
  const isExpired = license !== null && now >= license.expiresAt;
  return { plan, notices, events: plan === before ? [] : [planChanged(before, plan, isExpired ? ended : 'license_key')] };
}

const ended = 'local_expires_at';

function due({ expiresAt }: License, now: number): LicenseNews['notices'] {
  const left = expiresAt - now;
  if (left <= 0) return [noticeOf('license_downgraded', { reason: ended })];
  if (left > graceMs) return [];
  const expires_at = new Date(expiresAt).toISOString();
  return [noticeOf('license_grace_warning', { grace_remaining_days: Math.ceil(left / dayMs), expires_at })];
}

const noticeOf = (event: LicenseEvent, detail: object) => ({ ...bareNotice(event, 'system', JSON.stringify(detail)), event });

const planChanged = (from: PlanName, to: PlanName, reason: string): AuditDraft => ({
  type: 'plan.changed',
  outcome: 'info',
  actor: systemActor,
  resourceType: 'config',
  resourceId: null,
  reason: null,
  metadata: { from, to, reason },
});
