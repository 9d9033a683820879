import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type License, type Limits, PLANS, type PlanName, planAt } from '../../domain/license.js';
import { type LicenseEvent, licenseNews } from '../../domain/license-news.js';

const day = 86_400_000;
const end = Date.parse('2032-01-01T00:00:00Z');
const license: License = {
  keyId: 'l',
  plan: 'team',
  issuedTo: 'us',
  issuedAt: 0,
  expiresAt: end,
  limits: PLANS.team satisfies Limits,
};

describe('the news of a licence (OP-45)', () => {
  it('warn when three days are left, and tell of the end at that instant', () => {
    const known = { before: 'team' as PlanName, told: [] };
    expect(licenseNews(license, end - 3 * day - 1, known)).toEqual({ plan: 'team', notices: [], events: [] });
    expect(licenseNews(license, end - 3 * day, known).notices).toMatchObject([
      {
        event: 'license_grace_warning',
        detail: '{"grace_remaining_days":3,"expires_at":"2032-01-01T00:00:00.000Z"}',
        actor: 'system',
      },
    ]);
    expect(licenseNews(license, end - 1, known).notices).toMatchObject([{ detail: expect.stringContaining('days":1,') }]);
    expect(licenseNews(license, end, known)).toMatchObject({
      plan: 'free',
      notices: [{ event: 'license_downgraded', detail: '{"reason":"local_expires_at"}' }],
      events: [{ type: 'plan.changed', metadata: { from: 'team', to: 'free', reason: 'local_expires_at' } }],
    });
  });

  it('record that a key came or went', () => {
    expect(licenseNews(license, 0, { before: 'free', told: [] }).events).toMatchObject([
      { metadata: { from: 'free', to: 'team', reason: 'license_key' } },
    ]);
    expect(licenseNews(null, 0, { before: 'team', told: [] })).toMatchObject({ plan: 'free', notices: [], events: [{}] });
    expect(licenseNews(null, 0, { before: 'free', told: [] })).toEqual({ plan: 'free', notices: [], events: [] });
  });

  it('come once each, in their order, however often somebody looks (property)', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -5 * day, max: 5 * day }), { minLength: 1 }), (offsets) => {
        const told: LicenseEvent[] = [];
        let before: PlanName = 'free';
        for (const now of offsets.toSorted((a, b) => a - b).map((offset) => end + offset)) {
          const news = licenseNews(license, now, { before, told });
          told.push(...news.notices.map(({ event }) => event));
          expect(news.events).toHaveLength(news.plan === before ? 0 : 1);
          before = news.plan;
          expect(before).toBe(planAt(license, now).plan);
        }
        expect(told).toEqual([...new Set(told)]);
        expect(['license_grace_warning', 'license_downgraded'].filter((event) => told.includes(event as LicenseEvent))).toEqual(
          told,
        );
      }),
    );
  });
});
