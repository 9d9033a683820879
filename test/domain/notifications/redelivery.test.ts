import { describe, expect, it } from 'vitest';
import { notificationEvents } from '../../../domain/notifications/events.js';
import { type Sent, whyNotAgain } from '../../../domain/notifications/redelivery.js';
import { type Routing, routesOf } from '../../../domain/notifications/routing.js';

const sent = (over: Partial<Sent> = {}): Sent => ({
  webhookId: 'feed',
  eventType: 'request.created',
  requestId: 'r',
  body: '{}',
  open: false,
  pair: { database: 'app', environment: 'prod' },
  ...over,
});
const open: Routing = { webhooks: [{ id: 'feed', events: [], format: 'generic' }], notificationPolicies: [] };
const policy = {
  id: 'np:app:*',
  database: 'app',
  environment: '*',
  webhooks: ['feed'],
  events: ['request.*'],
  slackChannels: null,
};
const reasonOf = (one: Sent, routing: Routing = open) => whyNotAgain(one, routing)?.reason ?? null;

describe('a delivery is sent again (NT-63)', () => {
  it.each(Object.keys(notificationEvents) as (keyof typeof notificationEvents)[])(
    'exactly if %s is routed to its webhook today',
    (event) => {
      const { request } = notificationEvents[event];
      for (const database of ['app', 'other'])
        for (const webhooks of [['feed'], []])
          for (const subscribed of [[], ['user.*'], ['execution.*']]) {
            const pair = request ? { database, environment: 'prod' } : null;
            const routing = {
              webhooks: [{ id: 'feed', events: subscribed, format: 'generic' as const }],
              notificationPolicies: [{ ...policy, webhooks }],
            };
            const goes = routesOf(routing, { event, request: pair }).webhooks.length === 1;
            expect(reasonOf(sent({ eventType: event, pair }), routing)).toBe(goes ? null : 'not_routed');
          }
    },
  );

  it('not without the pair of its request, even where no policy asks for it', () => {
    expect(reasonOf(sent())).toBeNull();
    expect(reasonOf(sent({ pair: null }))).toBe('request_purged');
    expect(reasonOf(sent({ pair: null, requestId: null }))).toBe('request_purged');
  });

  it('not of an event that this version does not know', () => {
    expect(reasonOf(sent({ eventType: 'request.renamed' }))).toBe('not_routed');
    expect(reasonOf(sent({ eventType: 'constructor', pair: null }))).toBe('not_routed');
  });

  it('not before it has ended, nor to a webhook that is gone', () => {
    expect(reasonOf(sent({ open: true }))).toBe('not_ended');
    expect(reasonOf(sent({ webhookId: 'gone' }))).toBe('webhook_removed');
  });
});
