import { describe, expect, it } from 'vitest';
import { auditCategory } from '../../../domain/audit/catalogue.js';
import { isSubscribed, matchesEvent, type NotificationEvent, notificationEvents } from '../../../domain/notifications/events.js';

const events = Object.keys(notificationEvents) as NotificationEvent[];

describe('the catalogue of notifications', () => {
  it('is that of the rules (NT-1)', () => {
    const named = (prefix: string, last: string) => last.split(' ').map((name) => `${prefix}.${name}`);
    expect(events.toSorted()).toEqual(
      [
        ...named('request', 'created auto_approved break_glass dispatched approved rejected cancelled expired'),
        ...named('request', 'dispatch_timeout integrity_failed'),
        'step.approved',
        ...named('execution', 'started failed cancelled completed lost'),
        ...named('user', 'created updated deleted suspended activated'),
        'license_grace_warning',
        'license_downgraded',
        'webhook.test',
      ].toSorted(),
    );
  });

  it('names audit events, but for those that have none (NT-3)', () => {
    expect(events.filter((event) => !Object.hasOwn(auditCategory, event))).toEqual([
      'license_grace_warning',
      'license_downgraded',
      'webhook.test',
    ]);
  });

  it('has a request for those of requests, steps and executions; only these reach Slack, without the start (NT-1, NT-15)', () => {
    const about = events.filter((event) => /^(request|step|execution)\./.test(event));
    expect(events.filter((event) => notificationEvents[event].request)).toEqual(about);
    expect(events.filter((event) => notificationEvents[event].slack)).toEqual(
      about.filter((event) => event !== 'execution.started'),
    );
  });
});

describe('a subscription list', () => {
  const chosen = (...list: string[]) => events.filter((event) => isSubscribed(list, event) && event !== 'webhook.test');
  const all = events.filter((event) => event !== 'webhook.test');

  it('asks for all events when it is empty or has a star (NT-10)', () => {
    expect(chosen()).toEqual(all);
    expect(chosen('*')).toEqual(all);
    expect(chosen('user.created', '*')).toEqual(all);
  });

  it('asks for exact names, and for all names after a prefix and its point (NT-10)', () => {
    expect(chosen('step.approved', 'execution.lost')).toEqual(['step.approved', 'execution.lost']);
    expect(chosen('step.*', 'user.deleted')).toEqual(['step.approved', 'user.deleted']);
    expect(chosen('execution.*')).toHaveLength(5);
    expect(chosen('request', 'request.', 'request.c*', 'exec.*', '.*', '*.*', 'request.created.*', 'Request.created')).toEqual(
      [],
    );
  });

  it('is not asked about a test (NT-10)', () => {
    expect(isSubscribed(['user.created'], 'webhook.test')).toBe(true);
  });

  it('may only have entries that match an event (NT-10)', () => {
    for (const entry of ['*', 'request.*', 'user.updated', 'license_downgraded', 'webhook.test'])
      expect(matchesEvent(entry)).toBe(true);
    for (const entry of [
      '',
      'request',
      'request.',
      '.*',
      '*.*',
      'license.*',
      'requests.*',
      'token.created',
      'toString',
      '__proto__',
    ])
      expect(matchesEvent(entry)).toBe(false);
  });
});
