/** The first part of a document that does not hold (docs/evidence.md). */
export interface Fault {
  code: FaultCode;
  message: string;
}

export type FaultCode =
  | 'malformed'
  | 'key_not_trusted'
  | 'signature_invalid'
  | 'checkpoint_invalid'
  | 'event_hash_mismatch'
  | 'event_not_in_log'
  | 'event_foreign'
  | 'event_order'
  | 'text_mismatch'
  | 'digest_mismatch'
  | 'order_not_allowed'
  | 'status_mismatch'
  | 'decision_mismatch'
  | 'approval_not_allowed'
  | 'approval_missing'
  | 'token_invalid'
  | 'token_mismatch'
  | 'attempt_mismatch'
  | 'anchor_mismatch';

export const fault = (code: FaultCode, message: string): Fault => ({ code, message });

/** The first fault of checks that are asked in this order. */
export function firstFault(...checks: readonly (() => Fault | null)[]): Fault | null {
  for (const check of checks) {
    const found = check();
    if (found !== null) return found;
  }
  return null;
}
