import { LRUCache } from 'lru-cache';
import type { SlackClient } from './slack-client.js';

const lookUpMs = 2000;
const missMs = 300_000;
const hitMs = 24 * 3_600_000;
const maxKept = 10_000;

/** The Slack id of an e-mail address, for mentions only (SL-54). A hit is remembered for a day, a miss for 300 s. */
export function createSlackLookups(slack: SlackClient): (email: string) => Promise<string | null> {
  const kept = new LRUCache<string, { slackId: string | null }>({ max: maxKept });
  return async (email) => {
    const known = kept.get(email);
    if (known !== undefined) return known.slackId;
    const answer = await slack.call('users.lookupByEmail', { email }, lookUpMs);
    // Slack need not be what answers: a fake or a proxy may say nothing of a user.
    const { id } = ((answer.ok ? answer.body.user : null) ?? {}) as { id?: unknown };
    const slackId = typeof id === 'string' ? id : null;
    kept.set(email, { slackId }, { ttl: slackId === null ? missMs : hitMs });
    return slackId;
  };
}
