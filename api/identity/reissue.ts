import { insertAuditEvents } from '../../db/audit.js';
import type { Transaction } from '../../db/client.js';
import { iso } from '../../db/row-types.js';
import { insertToken, revokeProvisioned } from '../../db/tokens.js';
import { findSlackUser } from '../../db/users.js';
import { invalid, refusal } from '../../domain/errors.js';
import { type Grant, grantBy, handedOver } from '../../domain/four-eyes.js';
import { roleNamesOf } from '../../domain/role-names.js';
import { slackIsOn } from '../../runtime/slack-client.js';
import type { Services } from '../context.js';
import { deliverToken } from '../slack/token-delivery.js';
import { tokenDelivered, tokenReissued, tokenRevoked } from './events.js';
import { lockTarget, requireGrantable, resolve } from './granting.js';
import { newInitialToken } from './initial-token.js';
import { type Acting, requireThere } from './users.js';

type ReissueCall = Acting & { params: { id: string } };

/** `POST /api/users/{id}/reissue-initial-token` (IM-68): the new token goes to the user in Slack, if there is a way; else the answer has it. */
export async function reissueInitialToken(call: ReissueCall, services: Services) {
  const made = await services.database.transaction((tx) => reissue(tx, call, slackIsOn(services.config().slack)));
  const { token, tokenId, slackUserId } = made;
  const shown = { reissued_token_id: tokenId, reissued_at: iso(made.at), revoked_old_token_id: made.oldId };
  if (slackUserId === null)
    return {
      ...shown,
      delivery_status: 'not_configured' as const,
      delivery_channel: null,
      token,
      manual_recovery_required: true,
    };
  const to = { actor: call.actor, slackUserId, userId: call.params.id, token, tokenId, elseReturned: true };
  const delivered = await deliverToken(services, to);
  return {
    ...shown,
    delivery_status: delivered ? ('delivered' as const) : ('failed' as const),
    delivery_channel: 'slack_dm' as const,
    token: delivered ? null : token,
    manual_recovery_required: !delivered,
  };
}

/** `slackUserId` is null if the token cannot be delivered. */
async function reissue(tx: Transaction, call: ReissueCall, isOn: boolean) {
  const { actor, params } = call;
  const user = await lockTarget(tx, call, params.id);
  requireThere(user);
  const resolved = resolve(call.generation, user);
  requireGrantable(call.caller, resolved);
  if (user.status === 'suspended') throw refusal('user.conflict', 'user is suspended', 'activate the user first');
  if (resolved.length === 0) throw invalid('the user has no role', 'grant a role first');
  const slackUserId = isOn ? user.slackUserId : null;
  const { token, stored } = newInitialToken(user.id, roleNamesOf(resolved), await issuedBy(tx, call, slackUserId));
  const [old = null] = await revokeProvisioned(tx, 'initial', user.id);
  await insertToken(tx, stored);
  const [made] = await tx.query<{ at: number }>('select created_at as at from tokens where id = $1', [stored.id]);
  await insertAuditEvents(tx, [
    ...(old === null ? [] : [tokenRevoked(actor, old, 'reissued')]),
    tokenReissued(actor, user.id, old?.id ?? null, stored.id),
    ...(slackUserId === null ? [tokenDelivered(actor, stored.id, 'not_configured', true)] : []),
  ]);
  return { token, tokenId: stored.id, at: made?.at ?? 0, oldId: old?.id ?? null, slackUserId };
}

/** Whoever linked the Slack account that gets the token may own that account (HD-70). */
async function issuedBy(tx: Transaction, { caller }: ReissueCall, slackUserId: string | null): Promise<Grant> {
  const linked = slackUserId === null ? undefined : await findSlackUser(tx, slackUserId);
  return handedOver(grantBy(caller), linked?.linkOrigins ?? []);
}
