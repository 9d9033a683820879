import type { Transaction } from '../../db/client.js';
import { creationInstant, insertAtOnce, insertRequest } from '../../db/creation.js';
import { isUnavailable } from '../../db/errors.js';
import { keepStanding } from '../../db/standing.js';
import { createdRequest } from '../../domain/request/creation.js';
import type { NewRequest } from '../../domain/request/new-request.js';
import { isMutatingMigration, type StoredRequest } from '../../domain/request/types.js';
import type { HeldPoll } from '../agent/ready-polls.js';
import type { Services } from '../context.js';
import { countMoved, traceMoved } from './moved.js';

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
  const poll = services.readyPolls.hold(created);
  if (poll === null) return undefined;
  let end = () => poll.end(null);
  try {
    const startedAt = performance.now();
    const judged = await judge(services, poll, created, now);
    const stored = judged && (await insertAtOnce(services.database, request, now, judged.claimed));
    if (!judged || !stored) return undefined;
    const { answer } = judged.claimed.written.claim;
    end = () => poll.end(answer);
    countMoved(services.metrics, judged.moved);
    traceMoved(services.tracing, judged.moved, startedAt);
    return stored;
  } catch (error) {
    // The claim may have been made. Its agent gets it by its next poll (AG-81), and counts its lease from before a poll that failed.
    if (isUnavailable(error)) end = () => poll.fail(error);
    throw error;
  } finally {
    end();
  }
}

/** A fault of the claim does not fail the creation. */
async function judge({ log }: Services, poll: HeldPoll, created: StoredRequest, now: number) {
  try {
    return await poll.judge(created, now);
  } catch (error) {
    log.warn({ error: String(error), request_id: created.id }, 'request not claimed as it was created');
    return null;
  }
}
