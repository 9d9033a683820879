import { findSlackUser } from '../../db/users.js';
import type { Actor } from '../../domain/audit/draft.js';
import type { UserCaller } from '../../domain/caller.js';
import { refusal } from '../../domain/errors.js';
import { slackCaller } from '../../domain/stored-caller.js';
import type { SlackCall } from './call.js';

export interface ActingUser {
  caller: UserCaller;
  actor: Actor;
}

/** The active user whose Slack account calls (SL-13). Asked for each call again, so that nothing is remembered past one. Throws what the user is told. */
export async function actingUser(
  call: Pick<SlackCall, 'services' | 'generation' | 'address' | 'slackUserId'>,
): Promise<ActingUser> {
  const { services, generation, address, slackUserId } = call;
  const stored = await findSlackUser(services.database, slackUserId);
  if (stored === undefined)
    throw refusal('auth.forbidden', `your Slack account is not linked to a user of the gateway: ${howToJoin(call)}`);
  if (stored.status !== 'active')
    throw refusal('auth.user_suspended', 'your account is suspended: ask an administrator to activate it');
  const caller = slackCaller(stored, generation.shared.auth);
  if (caller === 'no_roles') throw refusal('auth.no_roles_resolved', 'your account has no roles: ask an administrator for one');
  return { caller, actor: { id: caller.id, type: 'user', tokenId: null, slackUserId, ...address, channel: 'slack' } };
}

const howToJoin = ({ services, slackUserId }: Pick<SlackCall, 'services' | 'slackUserId'>) =>
  services.config().slack.onboarding.enabled
    ? 'use /svc join'
    : `ask an administrator for svc user update USER --slack-user-id ${slackUserId}`;
