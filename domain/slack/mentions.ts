import { few } from '../notifications/slack-message.js';
import { hasApproved } from '../request/has-approved.js';
import type { StoredRequest } from '../request/types.js';
import { parseSelector } from '../selectors.js';
import { plainLine } from './text.js';
import type { LineFacts } from './thread.js';

/** Slack ids by user id, of users who have one. For mentions only: they let nobody act (SL-54). */
export type SlackIds = ReadonlyMap<string, string>;

/** Whom a message speaks to: named users, and whoever the selectors match, but for some. */
export interface Audience {
  users: readonly string[];
  selectors: readonly string[];
  without: readonly string[];
}

/** A message names no more people than these. */
export const maxMentions = 10;
const nameLimit = 64;

/** A user as Slack shows and notifies one; without a Slack id, the plain user id (SL-54). */
export function mention(user: string, slackIds: SlackIds): string {
  const id = slackIds.get(user);
  return id !== undefined && isSlackUserId(id) ? `<@${id}>` : plainLine(user, nameLimit);
}

export const mentions = (users: readonly string[], slackIds: SlackIds): string =>
  few(
    users.map((user) => mention(user, slackIds)),
    maxMentions,
  );

/** The only form in which text of Slack is put into markup. */
export const isSlackUserId = (text: string): boolean => /^[UW][A-Z0-9]{1,63}$/.test(text);

/** What decides whose approval a request still takes. */
type Approvable = Pick<StoredRequest, 'requester'> & Parameters<typeof hasApproved>[0];

/** Those who may approve next. A requester is not asked to approve, nor who has approved and may not do so again (RQ-52). */
export const nextApprovers = (selectors: readonly string[], request: Approvable): Audience => ({
  users: usersIn(selectors),
  selectors,
  without: [request.requester, ...request.decisions.map(({ userId }) => userId).filter((id) => hasApproved(request, id))],
});

/** SL-53. */
export function audienceOf({ event, actor, approvers, asked }: LineFacts, request: Approvable): Audience {
  const { requester } = request;
  switch (event) {
    case 'step.approved': {
      const next = nextApprovers(asked, request);
      return { ...next, without: [...next.without, actor] };
    }
    case 'request.approved':
    case 'request.rejected':
    case 'execution.completed':
    case 'execution.failed':
    case 'execution.lost':
    case 'request.dispatch_timeout':
    case 'request.integrity_failed':
      return { users: [requester], selectors: [], without: [] };
    case 'request.expired':
    case 'request.cancelled': {
      const users = [...new Set([requester, ...approvers, ...usersIn(asked)])];
      return { users, selectors: asked, without: event === 'request.cancelled' ? [actor] : [] };
    }
    default:
      return { users: [], selectors: [], without: [] };
  }
}

const usersIn = (selectors: readonly string[]): string[] =>
  selectors.flatMap((selector) => {
    const parsed = parseSelector(selector);
    return parsed?.kind === 'user' ? [parsed.name] : [];
  });
