import { unmetSelectors } from '../request/approval.js';
import type { StoredRequest } from '../request/types.js';
import { lineFacts } from '../slack/thread.js';
import { isCreation, notificationEvents } from './events.js';
import type { Notice } from './notice.js';
import type { CardNews } from './outgoing.js';
import { type Routing, routesOf } from './routing.js';

/**
 * How one change's notices affect the cards of its request (SL-50 to SL-52). Its notices share one policy, so each channel gets the same events.
 * Cards in other channels are rebuilt too, so that none offers what is over (SL-I3).
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
