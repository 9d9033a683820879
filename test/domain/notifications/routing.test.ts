import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NotificationEvent, notificationEvents } from '../../../domain/notifications/events.js';
import { routesOf } from '../../../domain/notifications/routing.js';
import type { NotificationPolicy, SharedWebhook } from '../../../domain/policies.js';

type Subject = Parameters<typeof routesOf>[1];

const webhook = (id: string, events: string[] = []): SharedWebhook => ({ id, events, format: 'generic' });
const policy = (over: Partial<NotificationPolicy>): NotificationPolicy => ({
  id: `np:${over.database ?? '*'}:${over.environment ?? '*'}`,
  database: '*',
  environment: '*',
  webhooks: [],
  events: [],
  slackChannels: null,
  ...over,
});
const on = (database: string, environment: string, event: NotificationEvent = 'request.created'): Subject => ({
  event,
  request: notificationEvents[event].request ? { database, environment } : null,
});
const routed = (notificationPolicies: NotificationPolicy[], webhooks: SharedWebhook[], subject: Subject) => {
  const routes = routesOf({ webhooks, notificationPolicies }, subject);
  return [routes.webhooks.map(({ id }) => id), routes.slackChannels];
};

describe('an event (C10)', () => {
  const webhooks = [webhook('all'), webhook('requests', ['request.*']), webhook('users', ['user.*'])];

  it('goes to all subscribed webhooks and the default channel where no policy is (NT-13)', () => {
    expect(routed([], webhooks, on('app', 'prod'))).toEqual([['all', 'requests'], 'default']);
    expect(routed([policy({ database: 'other' })], webhooks, on('app', 'prod'))).toEqual([['all', 'requests'], 'default']);
  });

  it('goes only where the policy of its pair says: both lists must match (NT-12)', () => {
    const scoped = policy({ database: 'app', webhooks: ['requests', 'users'], slackChannels: ['#a', '#a', 'C01'] });
    expect(routed([scoped], webhooks, on('app', 'prod'))).toEqual([['requests'], ['#a', 'C01']]);
    expect(routed([{ ...scoped, events: ['execution.*'] }], webhooks, on('app', 'prod'))).toEqual([[], []]);
    expect(routed([{ ...scoped, slackChannels: null }], webhooks, on('app', 'prod'))).toEqual([['requests'], 'default']);
    expect(routed([{ ...scoped, slackChannels: [] }], webhooks, on('app', 'prod'))).toEqual([['requests'], []]);
  });

  it('takes the most specific policy: the environment counts more than the database (NT-11)', () => {
    const policies = [
      policy({ webhooks: ['all'], slackChannels: ['#any'] }),
      policy({ database: 'app', slackChannels: ['#database'] }),
      policy({ environment: 'prod', slackChannels: ['#environment'] }),
      policy({ database: 'app', environment: 'prod', slackChannels: ['#both'] }),
    ];
    const channelOf = (count: number) => routed(policies.slice(0, count), webhooks, on('app', 'prod'))[1];
    expect([1, 2, 3, 4].map(channelOf)).toEqual([['#any'], ['#database'], ['#environment'], ['#both']]);
    expect(routed(policies, webhooks, on('other', 'dev'))).toEqual([['all'], ['#any']]);
  });

  it('without a database is not subject to policies, and not for Slack (NT-13, NT-15)', () => {
    const everywhere = policy({ webhooks: ['requests'] });
    expect(routed([everywhere], webhooks, on('', '', 'user.created'))).toEqual([['all', 'users'], []]);
    expect(routed([everywhere], webhooks, on('', '', 'license_downgraded'))).toEqual([['all'], []]);
  });

  it('that says only that a run began is not for Slack (NT-1)', () => {
    expect(routed([], webhooks, on('app', 'prod', 'execution.started'))).toEqual([['all'], []]);
    expect(routed([policy({ slackChannels: ['#a'] })], webhooks, on('app', 'prod', 'execution.started'))[1]).toEqual([]);
  });
});

/** The rules once more, read aloud: score every policy, then test every list. */
function naiveRoutes(policies: NotificationPolicy[], webhooks: SharedWebhook[], { event, request }: Subject) {
  const wants = (list: string[]) =>
    event === 'webhook.test' ||
    list.length === 0 ||
    list.some((entry) => new RegExp(`^${entry.replaceAll('.', '\\.').replace('*', '.*')}$`).test(event));
  const scored = policies.flatMap((one) => {
    if (request === null) return [];
    if (one.database !== '*' && one.database !== request.database) return [];
    if (one.environment !== '*' && one.environment !== request.environment) return [];
    return [{ one, score: (one.environment === '*' ? 0 : 2) + (one.database === '*' ? 0 : 1) }];
  });
  const chosen = scored.sort((a, b) => b.score - a.score)[0]?.one;
  const slack = /^(request|step|execution)\./.test(event) && event !== 'execution.started';
  const ids: string[] = [];
  for (const { id, events } of webhooks) {
    const named = chosen === undefined || (chosen.webhooks.includes(id) && wants(chosen.events));
    if (named && wants(events)) ids.push(id);
  }
  if (!slack || (chosen !== undefined && !wants(chosen.events))) return [ids, []];
  return [ids, chosen?.slackChannels == null ? 'default' : [...new Set(chosen.slackChannels)]];
}

describe('routing of any configuration', () => {
  const list = fc.uniqueArray(
    fc.constantFrom('*', 'request.*', 'execution.*', 'user.*', 'step.approved', 'request.created', 'execution.started'),
    { maxLength: 3 },
  );
  const ids = ['w1', 'w2', 'w3', 'w4'];
  const webhooks = fc.uniqueArray(
    fc.record({ id: fc.constantFrom(...ids), events: list, format: fc.constant('generic' as const) }),
    {
      selector: ({ id }) => id,
    },
  );
  const pair = { database: fc.constantFrom('*', 'app', 'crm'), environment: fc.constantFrom('*', 'prod', 'dev') };
  const channels = fc.option(fc.array(fc.constantFrom('#a', '#b', 'C01'), { maxLength: 3 }));
  const policies = fc.uniqueArray(
    fc
      .record({ ...pair, webhooks: fc.array(fc.constantFrom(...ids), { maxLength: 5 }), events: list, slackChannels: channels })
      .map((row) => ({ ...row, id: `np:${row.database}:${row.environment}` })),
    { selector: ({ id }) => id, maxLength: 9 },
  );
  const subject = fc
    .tuple(
      fc.constantFrom(...(Object.keys(notificationEvents) as NotificationEvent[])),
      fc.constantFrom('app', 'crm', 'new'),
      fc.constantFrom('prod', 'dev', 'new'),
    )
    .map(([event, database, environment]) => on(database, environment, event));

  it('agrees with a second one, whatever the order of the policies (NT-11 to NT-15)', () => {
    fc.assert(
      fc.property(policies, webhooks, subject, (given, hooks, event) => {
        expect(routed(given, hooks, event)).toEqual(naiveRoutes(given, hooks, event));
        expect(routed(given.toReversed(), hooks, event)).toEqual(routed(given, hooks, event));
      }),
      { numRuns: 2000 },
    );
  });

  it('tells no webhook twice, and none that the policy of the pair does not name (NT-14, NT-I6)', () => {
    fc.assert(
      fc.property(policies, webhooks, subject, (given, hooks, event) => {
        const [told, channels] = routed(given, hooks, event) as [string[], string[] | 'default'];
        expect(new Set(told).size).toBe(told.length);
        if (channels !== 'default') expect(new Set(channels).size).toBe(channels.length);
        const { request } = event;
        const own = request && given.find((one) => one.database === request.database && one.environment === request.environment);
        if (own != null) for (const id of told) expect(own.webhooks).toContain(id);
      }),
    );
  });

  it('without its policies is the global list again (NT-I6)', () => {
    fc.assert(
      fc.property(webhooks, subject, (hooks, event) => {
        expect(routed([], hooks, event)).toEqual(naiveRoutes([], hooks, event));
        expect(routed([], hooks, event)[1]).toEqual(notificationEvents[event.event].slack ? 'default' : []);
      }),
    );
  });
});
