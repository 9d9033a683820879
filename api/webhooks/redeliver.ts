import { randomUUID } from 'node:crypto';
import { insertAuditEvents } from '../../db/audit.js';
import type { Transaction } from '../../db/client.js';
import { findSent } from '../../db/delivery-list.js';
import { transactionBy } from '../../db/standing.js';
import { insertDeliveries } from '../../db/webhook-deliveries.js';
import type { AuditSubject } from '../../domain/audit/draft.js';
import type { Pair } from '../../domain/caller.js';
import { notFound } from '../../domain/errors.js';
import { deliveryName } from '../../domain/notifications/attempt.js';
import { redelivered, type Sent, whyNotAgain } from '../../domain/notifications/redelivery.js';
import { isUuid } from '../../lib/uuid.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';

/** `POST /api/webhook-deliveries/{id}/redeliver`: sends the same bytes in a new delivery (NT-63). */
export async function redeliver(
  { actor, params }: Call<{ id: string }, unknown, unknown>,
  { database, generation }: Pick<Services, 'database' | 'generation'>,
) {
  const id = deliveryName(randomUUID());
  await transactionBy(database, actor, async (tx) => {
    const sent = await findByName(tx, params.id);
    if (sent === undefined) throw notFound('delivery');
    // The configuration of now, not of the call's beginning: the call may have waited since (NT-14).
    const refused = whyNotAgain(sent, generation().shared);
    if (refused !== null) throw refused;
    await insertDeliveries(tx, [{ ...sent, id: uuidOf(id), yields: false }]);
    await insertAuditEvents(tx, [redelivered(actor, sent, { id, formerId: params.id })], subjectOf(sent.pair));
  });
  return { delivery_id: id };
}

const uuidOf = (name: string) => name.replace(/^wd-/, '');

async function findByName(tx: Transaction, name: string): Promise<Sent | undefined> {
  const id = uuidOf(name);
  return isUuid(id) && deliveryName(id) === name ? findSent(tx, id) : undefined;
}

const subjectOf = (pair: Pair | null): AuditSubject | null =>
  pair && { ...pair, requestId: null, operation: null, detailFingerprint: null, detailRaw: null };
