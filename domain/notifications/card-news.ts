import { unmetSelectors } from '../request/approval.js';
import type { StoredRequest } from '../request/types.js';
import { lineFacts } from '../slack/thread.js';
import { isCreation, notificationEvents } from './events.js';
import type { Notice } from './notice.js';
import type { CardNews } from './outgoing.js';
import { type Routing, routesOf } from './routing.js';

/**
 * What the notices of one change ask of the cards of its request (SL-50 to SL-52). They have one policy, so each channel is told of the same events. A card
 * whose channel is not told of them is built again all the same: it must not go on offering what is over (SL-I3).
 */
export function cardNews(
  notices: readonly Notice[],
  request: StoredRequest,
  routing: Routing,
  defaultChannel: string,
): CardNews[] {
  const shown = notices.filter(({ event }) => notificationEvents[event].slack);
  if (shown.length === 0) return [];
  const channelsOf = (notice: Notice) => {
    const { slackChannels } = routesOf(routing, notice);
    return slackChannels === 'default' ? [defaultChannel] : slackChannels;
  };
  const told = shown.filter((notice) => channelsOf(notice).length > 0);
  const lines = told.filter(({ event }) => !isCreation(event)).map((notice) => lineFacts(notice, unmetSelectors(request)));
  return [{ requestId: request.id, channels: told[0] === undefined ? [] : channelsOf(told[0]), lines, yields: false }];
}
