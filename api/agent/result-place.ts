import { sha256Hex } from '../../crypto/hash.js';
import type { FoundExecution } from '../../db/executions.js';
import type { MoveStatement } from '../../db/move-statement.js';
import { type ResultPlace, relayInsert, resultInsert } from '../../db/results.js';
import { refusal } from '../../domain/errors.js';
import { isJsonText } from '../../lib/json/scan.js';
import { type PutObject, reachResults } from '../../runtime/result-store.js';
import type { Generation, Services } from '../context.js';
import { envelope } from '../results/envelope.js';
import { resultPolicy } from '../results/policy.js';
import type { Submitted } from './submission.js';

/** A submission and where its data goes. */
export interface Placed {
  execution: FoundExecution;
  submitted: Submitted;
  /** RS-43; `object` is what is stored, wherever that is (RS-63). */
  kept: 'object' | 'empty' | 'relay';
  /** The name of an object in the store. */
  key: string;
  validJson: boolean;
  retentionDays: number;
}

/** Decides by the result policy in force now (RS-43). */
export function placeOf(services: Services, generation: Generation, execution: FoundExecution, submitted: Submitted): Placed {
  const { data } = submitted;
  const { deliveryMode, retentionDays } = resultPolicy(services, generation, execution);
  const relayed = submitted.submission.success && (execution.noResultStore || deliveryMode === 'stream');
  return {
    execution,
    submitted,
    kept: relayed ? 'relay' : data === null ? 'empty' : 'object',
    key: `${execution.requestId}/${execution.id}`,
    validJson: data !== null && isJsonText(data),
    retentionDays,
  };
}

type KeptData = PutObject & { place: ResultPlace };

/** Larger data is an object in the result store. Smaller data is in the row, which spares the move files and their waits for the disk (RS-63). */
const maxRowBytes = 65_536;

/** Puts large data into the store; small data waits for its row. Null if it is not to be stored, or cannot belong to the one result that is accepted. */
export async function keepData(services: Services, { execution, submitted, kept, key }: Placed): Promise<KeptData | null> {
  const { data } = submitted;
  const awaited = execution.submission === null && execution.fence === execution.newestFence;
  if (kept !== 'object' || data === null || !awaited) return null;
  if (data.length <= maxRowBytes) return { place: { data }, length: data.length, sha256: sha256Hex(data), existed: false };
  try {
    const object = await reachResults(services, () => services.results.put(key, data));
    return { place: { backend: services.results.backend, key }, ...object };
  } catch (error) {
    services.metrics.resultStorage.inc({ status: 'failed' });
    throw error;
  }
}

/** The cleaner removes orphans under the request's lock (RS-49), so an object that is found under it stays. */
export async function requireObject(services: Services, key: string): Promise<void> {
  if (!(await reachResults(services, () => services.results.has(key)))) throw lostMeanwhile();
}

/** The agent repeats its submission, and the object is written anew. */
const lostMeanwhile = () => refusal('service.unavailable', 'the result has to be sent again');

/**
 * The parts of the move that ends the run which write its data. None if what the agent found applied was not believed (HD-41): then the data belongs
 * to no attempt.
 */
export function resultParts(services: Services, placed: Placed, data: KeptData | null, statement: MoveStatement): string[] {
  const { execution, submitted, kept, validJson, retentionDays } = placed;
  if (statement.refused || statement.after.execution?.outcome !== submitted.submission.outcome) return [];
  if (kept === 'relay') return [relayPart(services, placed, statement)];
  return data === null ? [] : [resultInsert(statement, { executionId: execution.id, ...data, validJson, retentionDays })];
}

/** Hands the data to readers that come soon (RS-45). */
function relayPart(services: Services, { execution, submitted, validJson }: Placed, statement: MoveStatement): string {
  const { maxSlots, slotTtlSecs } = services.config().resultChannel;
  const { submission, data } = submitted;
  const head = {
    executionId: execution.id,
    success: true,
    rowsAffected: submission.rowsAffected,
    truncated: submission.truncated ?? false,
    errorMessage: submission.errorMessage,
  };
  const json = data === null || validJson ? data : Buffer.from(JSON.stringify(utf8.decode(data)));
  const pieces = envelope(head, json).map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece));
  const stored = {
    executionId: execution.id,
    envelope: Buffer.concat(pieces),
    expiresAt: statement.now + slotTtlSecs * 1000,
  };
  return relayInsert(statement, stored, maxSlots);
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
