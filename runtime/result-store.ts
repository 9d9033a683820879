import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import { outsideDatabaseWork } from '../db/call-limit.js';
import { GatewayError, refusal } from '../domain/errors.js';

/** Where result texts are kept. Keys are relative paths made by us; length and hash are compared by the reader (RS-36). */
export interface ResultStore {
  readonly backend: Config['resultStorage']['backend'];
  /** Durable when it answers. A key is written once: other text under it is 409 (RS-50). */
  put(key: string, text: Uint8Array): Promise<PutObject>;
  /** The bytes piece by piece, to be read to their end or returned from; null = nothing stored under the key. */
  read(key: string): Promise<AsyncIterable<Uint8Array> | null>;
  has(key: string): Promise<boolean>;
  /** Removing what is not there is no error. */
  remove(key: string): Promise<void>;
  /** Everything that is stored, in any order, pieces of broken writes included. */
  objects(): AsyncIterable<{ key: string; modifiedAt: number }>;
  /** Whether the store accepts a read (OP-10). */
  healthy(): Promise<boolean>;
}

export interface PutObject {
  /** In bytes of UTF-8. */
  length: number;
  sha256: string;
  /** The same text was there already, and may be about to be removed as an orphan (RS-49). */
  existed: boolean;
}

/** 503 while the store refuses work, which the caller may then repeat (AG-48, RS-37); the log names the reason. It costs no database time. */
export async function reachResults<T>(services: { log: Pick<Logger, 'error'> }, work: () => Promise<T>): Promise<T> {
  try {
    return await outsideDatabaseWork(work);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    services.log.error({ error: String(error) }, 'result storage not reachable');
    throw refusal('service.unavailable', 'result storage is not reachable');
  }
}

/** 409: another submission was first, and its text is the one that counts (RS-50). */
export const otherText = () => refusal('execution.conflict', 'execution has its result already');
