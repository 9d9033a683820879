import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import { outsideDatabaseWork } from '../db/call-limit.js';
import { GatewayError, refusal } from '../domain/errors.js';

/** Stores large result texts (RS-63). We create the keys, which are relative paths. Readers compare length and hash (RS-36). */
export interface ResultStore {
  readonly backend: Config['resultStorage']['backend'];
  /** Durable once it resolves. A key is written once: other text under it is 409 (RS-50). */
  put(key: string, text: Uint8Array): Promise<PutObject>;
  /** Yields the bytes piece by piece. Read to the end, or return from the iterator. Null if the key holds nothing. */
  read(key: string): Promise<AsyncIterable<Uint8Array> | null>;
  has(key: string): Promise<boolean>;
  /** Succeeds if the key holds nothing. */
  remove(key: string): Promise<void>;
  /** Every stored object in any order, including parts of interrupted writes. */
  objects(): AsyncIterable<{ key: string; modifiedAt: number }>;
  /** Whether the store accepts a read (OP-10). */
  healthy(): Promise<boolean>;
}

export interface PutObject {
  /** Bytes of UTF-8. */
  length: number;
  sha256: string;
  /** The same text was already there, and may be about to be removed as an orphan (RS-49). */
  existed: boolean;
}

/** 503 while the store fails; the caller may retry (AG-48, RS-37). The log names the reason. Takes none of the call's database time. */
export async function reachResults<T>(services: { log: Pick<Logger, 'error'> }, work: () => Promise<T>): Promise<T> {
  try {
    return await outsideDatabaseWork(work);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    services.log.error({ error: String(error) }, 'result storage not reachable');
    throw refusal('service.unavailable', 'result storage is not reachable');
  }
}

/** 409: another submission was first, and its text counts (RS-50). */
export const otherText = () => refusal('execution.conflict', 'execution has its result already');
