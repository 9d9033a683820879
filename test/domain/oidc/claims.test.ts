import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClaimRules, checkClaims, claimAt, type Login } from '../../../domain/oidc/claims.js';

const rules: ClaimRules = {
  issuer: 'https://id.example.net',
  clientId: 'svc',
  audience: 'other',
  subjectClaim: 'sub',
  groupsClaim: 'groups',
  roleMappings: [
    { claim: 'realm.roles', value: 'dba', role: 'dba' },
    { claim: 'https://example.net/team', value: 'red', role: 'requester' },
  ],
};
const now = 1_900_000_000_000;
const good = { iss: rules.issuer, aud: 'svc', sub: 'mira', exp: 1_900_000_000 };
const judged = (over: object, more: Partial<ClaimRules> = {}) => checkClaims({ ...good, ...over }, { ...rules, ...more }, now);

describe('claims (IM-31)', () => {
  it('end 30 seconds after exp and begin 30 seconds before nbf, both included', () => {
    expect(judged({ exp: 1_899_999_970 })).toMatchObject({ subject: 'mira' });
    expect(judged({ exp: 1_899_999_969.999 })).toBe('expired');
    expect(judged({ nbf: 1_900_000_030 })).toMatchObject({ subject: 'mira' });
    expect(judged({ nbf: 1_900_000_030.001 })).toBe('not_yet_valid');
    for (const exp of [null, '1900000000', Number.NaN, true]) expect(judged({ exp })).toBe('expired');
  });

  it('need the client as audience, or the configured audience when there is no client', () => {
    expect(judged({ aud: 'other' })).toBe('audience');
    expect(judged({ aud: ['a', 'other'] }, { clientId: null })).toMatchObject({ subject: 'mira' });
    expect(judged({ aud: { svc: 'svc' } })).toBe('audience');
    expect(judged({}, { clientId: null, audience: null })).toBe('audience');
  });

  it('give groups as texts only, and roles by each mapping that matches (IM-36)', () => {
    const login = judged({
      groups: ['a', 1, null, 'a', ['c'], 'b'],
      realm: { roles: ['x', 'dba'] },
      'https://example.net/team': 'red',
    });
    expect(login).toMatchObject({ groups: ['a', 'b'], mappedRoles: ['dba', 'requester'] });
    expect(judged({ groups: 'one' })).toMatchObject({ groups: ['one'] });
    expect(judged({ realm: { roles: 'DBA' } })).toMatchObject({ groups: [], mappedRoles: [] });
    expect(judged({ realm: [{ roles: 'dba' }] })).toMatchObject({ mappedRoles: [] });
  });

  it('give no group that has no valid name, which no text of the database could hold (IM-31, IM-60)', () => {
    const groups = ['a\0b', 'a\nb', 'a\ud800', '\udc00', '', 'x'.repeat(257), 'dba-team', 'Größe 😀'];
    expect(judged({ groups })).toMatchObject({ groups: ['dba-team', 'Größe 😀'] });
    expect(judged({ groups: 'a\0b' })).toMatchObject({ groups: [] });
  });

  it('end with the year 9999 at the latest (IM-31)', () => {
    for (const exp of [9e12, 1e300]) expect(judged({ exp })).toMatchObject({ expiresAt: Date.parse('9999-12-31T23:59:59.999Z') });
  });

  it('make nobody of an e-mail address that is not verified, however the provider says so (IM-31)', () => {
    const by = (email_verified: unknown) => judged({ email: 'mira@example.net', email_verified }, { subjectClaim: 'email' });
    for (const verified of [undefined, true, 'true']) expect(by(verified)).toMatchObject({ subject: 'mira@example.net' });
    for (const verified of [false, 'false', 'False', 0, null, '']) expect(by(verified)).toBe('subject');
    expect(judged({ email_verified: 'false' })).toMatchObject({ subject: 'mira' });
  });

  it('make nobody the gateway itself or a stranger, as the audit log calls them (IM-60)', () => {
    for (const sub of ['system', 'anonymous']) expect(judged({ sub })).toBe('subject');
    expect(judged({ sub: 'System' })).toMatchObject({ subject: 'System' });
  });

  it('are found by their own name before a path, and never in what every object has', () => {
    expect(claimAt({ 'a.b': 1, a: { b: 2 } }, 'a.b')).toBe(1);
    expect(claimAt({ a: { b: 2 } }, 'a.b')).toBe(2);
    for (const path of ['constructor', 'a.constructor.name', '__proto__', 'a.length', 'x.y', ''])
      expect(claimAt({ a: [1] }, path)).toBeUndefined();
  });

  it('never give a subject that is no user id, whatever they hold (property)', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('iss', 'aud', 'exp', 'nbf', 'sub', 'groups', 'name', 'email', 'realm'), fc.anything()),
        (over) => {
          const login = judged(over);
          if (typeof login === 'string') return;
          const { subject, groups, displayName, email }: Login = login;
          expect(subject).toMatch(/^[A-Za-z0-9._@-]{1,128}$/);
          expect([...groups, displayName ?? '', email ?? ''].every((text) => typeof text === 'string')).toBe(true);
          expect(`${displayName}${email}`).not.toContain('\0');
        },
      ),
      { numRuns: 2000 },
    );
  });
});
