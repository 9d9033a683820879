import type { Pair } from '../caller.js';
import type { SharedConfig, SharedWebhook } from '../policies.js';
import { matchPolicy } from '../workflow-policy.js';
import { isSubscribed, type NotificationEvent, notificationEvents } from './events.js';

export interface Routes {
  /** In file order, each at most once (NT-14). */
  webhooks: SharedWebhook[];
  /** `default` = `slack.channel`; empty = none. */
  slackChannels: string[] | 'default';
}

export type Routing = Pick<SharedConfig, 'webhooks' | 'notificationPolicies'>;

/** Where a notice goes. The policy of its pair, if there is one, replaces the global list (NT-11 to NT-15). */
export function routesOf(
  { webhooks, notificationPolicies }: Routing,
  { event, request }: { event: NotificationEvent; request: Pair | null },
): Routes {
  const subscribed = webhooks.filter(({ events }) => isSubscribed(events, event));
  const policy = request === null ? null : matchPolicy(notificationPolicies, request);
  const { slack } = notificationEvents[event];
  if (policy === null) return { webhooks: subscribed, slackChannels: slack ? 'default' : [] };
  if (!isSubscribed(policy.events, event)) return { webhooks: [], slackChannels: [] };
  return {
    webhooks: subscribed.filter(({ id }) => policy.webhooks.includes(id)),
    slackChannels: slack ? channelsOf(policy.slackChannels) : [],
  };
}

const channelsOf = (channels: readonly string[] | null) => (channels === null ? 'default' : [...new Set(channels)]);
