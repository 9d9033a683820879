import type { ApprovalMacs } from '../crypto/approval-macs.js';
import { refusal } from '../domain/errors.js';
import type { BrokenPart, Decision, StoredRequest } from '../domain/request/types.js';
import { decisionText, requestText, stateText } from '../domain/vouched-text.js';

/** Authentication codes of a request and its decisions. Null for rows that never got one. */
export interface StoredCodes {
  request: string | null;
  state: string | null;
  decisions: readonly (string | null)[];
}

/** The first part of a request that differs from what a process with the secret key wrote (HD-50). */
export function brokenPart(request: StoredRequest, codes: StoredCodes, macs: ApprovalMacs): BrokenPart | null {
  if (!macs.holds(requestText(request), codes.request)) return 'request';
  if (!macs.holds(stateText(request), codes.state)) return 'state';
  const every = request.decisions.every((decision, n) => macs.holds(decisionText(request, decision), codes.decisions[n] ?? null));
  return every ? null : 'decision';
}

export const requestCode = (request: StoredRequest, macs: ApprovalMacs) => macs.mac(requestText(request));

/** Empty if the request was already broken: a move that does not check it must not make it valid. */
export const stateCode = (request: StoredRequest, macs: ApprovalMacs) =>
  request.broken === null ? macs.mac(stateText(request)) : '';

/** The same for a decision that is being added. */
export const decisionCode = (request: StoredRequest, decision: Decision, macs: ApprovalMacs) =>
  request.broken === null ? macs.mac(decisionText(request, decision)) : '';

/** Every locking read selects this column: which secret key the database uses. */
export const keyCheckColumn = '(select key_check from secret_key) as "keyCheck"';

/** 503 if the database now uses another secret key: this process's writes would not be valid. */
export function requireCurrentKey(keyCheck: string | null, macs: ApprovalMacs): void {
  if (keyCheck === null || keyCheck === macs.keyCheck) return;
  throw refusal('service.unavailable', 'the secret key was changed', 'this process has to be started with the new one');
}
