import type { Transaction } from '../../db/client.js';
import { creationInstant, insertAtOnce, insertRequest } from '../../db/creation.js';
import type { JoinedClaim } from '../../db/joined-claim.js';
import { keepStanding } from '../../db/standing.js';
import { createdRequest } from '../../domain/request/creation.js';
import type { NewRequest } from '../../domain/request/new-request.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { claimWith } from '../agent/claim-with.js';
import type { Services } from '../context.js';

/** Stores the request as it was created: with its claim if an agent waits for it in this process (AG-80), else alone. */
export async function insertNew(services: Services, request: NewRequest, now: number): Promise<StoredRequest> {
  const { database } = services;
  return (
    (await insertClaimed(services, request, now)) ??
    (await insertAtOnce(database, request, now)) ??
    (await database.transaction((tx) => insertLocked(tx, request)))
  );
}

async function insertLocked(tx: Transaction, request: NewRequest): Promise<StoredRequest> {
  const [, now] = await Promise.all([keepStanding(tx, request.actor), creationInstant(tx)]);
  return insertRequest(tx, request, now);
}

async function insertClaimed(services: Services, request: NewRequest, now: number): Promise<StoredRequest | undefined> {
  if (request.approval.outcome !== 'auto_approved' || services.readyPolls.size === 0) return undefined;
  const { request: after } = createdRequest(request, now);
  const write = async (claim: JoinedClaim) => (await insertAtOnce(services.database, request, now, claim)) !== undefined;
  return (await claimWith(services, { after, now }, write)) ? after : undefined;
}
