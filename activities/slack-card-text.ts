import type { Database } from '../db/client.js';
import type { CardWork } from '../db/slack-card-work.js';
import { findOnboarding } from '../db/slack-onboardings.js';
import { findCardRequest, findPeople, listMembers, type Person } from '../db/slack-people.js';
import { openSelectors } from '../domain/request/approval.js';
import { parseSelector, type SelectorKind } from '../domain/selectors.js';
import type { SlackMessage } from '../domain/slack/blocks.js';
import { requestCard } from '../domain/slack/card.js';
import {
  type Audience,
  audienceOf,
  maxMentions,
  mention,
  mentions,
  nextApprovers,
  type SlackIds,
} from '../domain/slack/mentions.js';
import { onboardingMessage } from '../domain/slack/onboarding-card.js';
import type { FailedCall } from '../domain/slack/retry.js';
import { type LineFacts, threadLine } from '../domain/slack/thread.js';
import { stored } from './retried.js';

export interface CardTextOptions {
  database: Database;
  /** The Slack id that an address belongs to, within 2 s (SL-54). Never rejects. */
  lookUp: (email: string) => Promise<string | null>;
  /** The groups whose members hold a role. */
  groupsWith: (role: string) => string[];
  /** `server.public_url` of this process, which the links of cards lead to. */
  publicUrl: () => string | null;
  /** Called with the reason of a failure of ours. Temporal does not learn it. */
  onFailure?: (error: unknown) => void;
}

/** Far above what a message names, so that it can say how many more there are. */
const maxMembers = 1000;

/** What is sent for a card, made from what is stored now; null if there is nothing to show any more. */
export async function messageOf(
  options: CardTextOptions,
  card: CardWork,
  kind: FailedCall['kind'],
): Promise<SlackMessage | null> {
  const { requestId, onboardingId, channel, line } = card;
  if (onboardingId !== null) return onboardingOf(options, onboardingId, channel);
  if (requestId === null) return null;
  return kind === 'line' && line !== null ? lineOf(options, requestId, line.facts) : cardOf(options, requestId);
}

async function cardOf(options: CardTextOptions, requestId: string): Promise<SlackMessage | null> {
  const request = await stored(options.onFailure, () => findCardRequest(options.database, requestId));
  if (request === undefined) return null;
  const { users, slackIds } = await peopleOf(options, nextApprovers(openSelectors(request), request), [request.requester]);
  return requestCard(request, { slackIds, next: users, publicUrl: options.publicUrl() });
}

async function onboardingOf({ database, onFailure }: CardTextOptions, id: string, channel: string): Promise<SlackMessage | null> {
  const found = await stored(onFailure, () => findOnboarding(database, id));
  return found === null ? null : onboardingMessage(found.onboarding, channel);
}

async function lineOf(options: CardTextOptions, requestId: string, facts: LineFacts): Promise<SlackMessage | null> {
  const request = await stored(options.onFailure, () => findCardRequest(options.database, requestId));
  if (request === undefined) return null;
  const { users, slackIds } = await peopleOf(options, audienceOf(facts, request), []);
  return threadLine(facts, { actor: mention(facts.actor, new Map()), mentioned: mentions(users, slackIds) });
}

/** An audience as users, named ones first, with the Slack ids of those whom a message names, and of `also`. */
async function peopleOf(
  options: CardTextOptions,
  audience: Audience,
  also: readonly string[],
): Promise<{ users: string[]; slackIds: SlackIds }> {
  const without = new Set(audience.without);
  const named = audience.users.filter((user) => !without.has(user));
  const { database } = options;
  const [known, members] = await stored(options.onFailure, () =>
    Promise.all([
      findPeople(database, [...named, ...also]),
      listMembers(database, { ...heldBy(options, audience), without: [...without, ...named] }, maxMembers),
    ]),
  );
  const users = [...named, ...members.map(({ id }) => id)];
  const shown = new Set([...users.slice(0, maxMentions), ...also]);
  const ids = await Promise.all(
    [...known, ...members].filter(({ id }) => shown.has(id)).map(async (one) => [one.id, await slackIdOf(options, one)] as const),
  );
  return { users, slackIds: new Map(ids.flatMap(([id, slackId]) => (slackId === null ? [] : [[id, slackId] as const]))) };
}

function heldBy({ groupsWith }: CardTextOptions, { selectors }: Audience): { groups: string[]; roles: string[] } {
  const named = (kind: SelectorKind) =>
    selectors.flatMap((selector) => {
      const parsed = parseSelector(selector);
      return parsed?.kind === kind ? [parsed.name] : [];
    });
  const roles = named('role');
  return { groups: [...named('group'), ...roles.flatMap(groupsWith)], roles };
}

/** SL-54. */
const slackIdOf = async ({ lookUp }: CardTextOptions, { slackUserId, email }: Person): Promise<string | null> =>
  slackUserId ?? (email === null || email === '' ? null : lookUp(email));
