import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { place } from '../../api/http/shape.js';
import { type ErrorCode, type Resource, refusal } from '../../domain/errors.js';
import { errorBody, errorHeaders, httpStatus } from '../../runtime/http-errors.js';

describe('codes and statuses (section 7.1 of the HTTP rules)', () => {
  it.each<[ErrorCode, number]>([
    ['validation.failed', 400],
    ['validation.unsupported_media_type', 415],
    ['validation.not_acceptable', 406],
    ['auth.missing_token', 401],
    ['auth.invalid_token', 401],
    ['auth.token_expired', 401],
    ['auth.user_suspended', 401],
    ['auth.oidc_not_configured', 401],
    ['auth.oidc_failed', 401],
    ['auth.no_roles_resolved', 403],
    ['auth.insufficient_scope', 403],
    ['auth.forbidden', 403],
    ['plan.limit_exceeded', 402],
    ['route.not_found', 404],
    ['route.method_not_allowed', 405],
    ['config.read_only', 405],
    ['payload.too_large', 413],
    ['rate.limited', 429],
    ['service.draining', 503],
    ['service.unavailable', 503],
    ['internal', 500],
  ])('%s is %d', (code, status) => {
    expect(httpStatus(code)).toBe(status);
  });

  const resources: Resource[] = ['request', 'dry_run_job', 'sql_review_policy', 'mcp_stream', 'schema', 'slack'];
  it.each(resources)('%s has its three codes', (resource) => {
    expect([httpStatus(`${resource}.not_found`), httpStatus(`${resource}.conflict`), httpStatus(`${resource}.gone`)]).toEqual([
      404, 409, 410,
    ]);
  });

  it('come with their headers (HT-25, HT-27)', () => {
    expect([401, 403, 429, 503].map(errorHeaders)).toEqual([
      { 'WWW-Authenticate': 'Bearer' },
      {},
      { 'Retry-After': '1' },
      { 'Retry-After': '1' },
    ]);
  });
});

describe('error bodies (HT-90 to HT-92)', () => {
  it('are one line of at most 2000 bytes, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 5000 }), (text) => {
        const body = errorBody(refusal('internal', text, text));
        expect(Object.keys(body)).toEqual(['error', 'code', 'hint']);
        for (const value of [body.error, body.hint ?? '']) {
          expect(Buffer.byteLength(value)).toBeLessThanOrEqual(2000);
          expect(value).not.toMatch(/[\u0000-\u001f\u2028\u2029]/);
        }
      }),
    );
    expect(Buffer.byteLength(errorBody(refusal('internal', '🚫'.repeat(600))).error)).toBe(2000);
  });

  it('say by a reason what a code with several meanings means here', () => {
    const body = errorBody(refusal('request.conflict', 'text', null, 'already_approved'));
    expect(body).toEqual({ error: 'text', code: 'request.conflict', hint: null, reason: 'already_approved' });
  });

  it('name places as the rules spell them', () => {
    expect(place('body', ['share_with', 2])).toBe('body.share_with[2]');
    expect(place('query', ['limit'])).toBe('query.limit');
    expect(place('params', ['id'])).toBe('path.id');
    expect(place('body', [])).toBe('body');
  });
});
