import type { Transaction } from '../../db/client.js';
import { creationInstant, insertAtOnce, insertRequest } from '../../db/creation.js';
import { keepStanding } from '../../db/standing.js';
import { createdRequest } from '../../domain/request/creation.js';
import type { NewRequest } from '../../domain/request/new-request.js';
import { isMutatingMigration, type StoredRequest } from '../../domain/request/types.js';
import type { Services } from '../context.js';
import { withReadyClaim } from './ready-claim.js';

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

/** Undefined, with nothing written, if no agent waits for it, or it may not be claimed this way. */
async function insertClaimed(services: Services, request: NewRequest, now: number): Promise<StoredRequest | undefined> {
  // A migration needs the lock of its pair.
  if (request.approval.outcome !== 'auto_approved' || isMutatingMigration(request.operation)) return undefined;
  if (services.readyPolls.size === 0) return undefined;
  const { request: created } = createdRequest(request, now);
  return withReadyClaim(services, { request: created, now }, (claim) => insertAtOnce(services.database, request, now, claim));
}
