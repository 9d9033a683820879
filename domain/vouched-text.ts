import { utf8Length } from '../lib/utf8.js';
import { canonicalJson } from './canonical-json.js';
import { type Decision, type Execution, isSuccess, type StoredRequest } from './request/types.js';

/**
 * The texts that authentication codes are computed over (HD-50). The first line names the kind of text and its version; each value is preceded by its
 * length, as in ET-12.
 */

type Value = string | number | boolean | null;

/** The parts of a request that never change after creation. Its text, pair, operation and policy revision are covered by the digest. */
type Content = Pick<
  StoredRequest,
  | 'id'
  | 'requester'
  | 'requesterRole'
  | 'approvalDigest'
  | 'dialect'
  | 'emergency'
  | 'passedBy'
  | 'noResultStore'
  | 'maxAffectedRows'
  | 'createdAt'
  | 'shareSelectors'
  | 'policy'
  | 'searchPath'
>;

export function requestText(r: Content): string {
  return vouchedText('svc-request-mac-v1', [
    r.id,
    r.approvalDigest,
    r.requester,
    r.requesterRole,
    r.dialect,
    r.emergency,
    r.passedBy,
    r.noResultStore,
    r.maxAffectedRows,
    r.createdAt,
    r.policy === null ? null : canonicalJson(JSON.stringify(r.policy)),
    r.shareSelectors.length,
    ...r.shareSelectors,
    // Requests without a path must keep the codes they had before paths existed.
    ...(r.searchPath === null ? [] : [r.searchPath.length, ...r.searchPath]),
  ]);
}

/** The status and attempts of a request: what decides whether it may be dispatched and claimed. */
type State = Pick<
  StoredRequest,
  | 'id'
  | 'approvalDigest'
  | 'version'
  | 'status'
  | 'currentStep'
  | 'fence'
  | 'expiresAt'
  | 'approvedAt'
  | 'dispatchBy'
  | 'cancelledWhileLost'
  | 'failureReason'
> & { attempts: readonly Attempt[] };

/** The fields of an attempt that decide whether the request may run again. */
export type Attempt = Pick<Execution, 'id' | 'fence' | 'mutating' | 'marker' | 'status' | 'lost' | 'unresolved' | 'outcome'>;

export function stateText(r: State): string {
  return vouchedText('svc-state-mac-v1', [
    r.id,
    r.approvalDigest,
    r.version,
    r.status,
    r.currentStep,
    r.fence,
    r.expiresAt,
    r.approvedAt,
    r.dispatchBy,
    r.cancelledWhileLost,
    r.failureReason,
    r.attempts.length,
    ...r.attempts.flatMap(attemptValues),
    // Of most attempts the outcome adds nothing; they must keep the codes they had before it counted.
    ...r.attempts.filter(hasMoreApplied).flatMap(({ fence, outcome }) => [fence, outcome]),
  ]);
}

/** More is applied than the attempt's status says: a part, or all by a report that decided nothing. */
const hasMoreApplied = ({ status, outcome }: Attempt) => outcome === 'partial' || (status !== 'completed' && isSuccess(outcome));

const attemptValues = (a: Attempt): Value[] => [a.id, a.fence, a.mutating, a.marker, a.status, a.lost, a.unresolved];

export function decisionText(r: Pick<StoredRequest, 'id' | 'approvalDigest' | 'requester'>, d: Decision): string {
  return vouchedText('svc-decision-mac-v1', [
    r.id,
    r.approvalDigest,
    r.requester,
    d.userId,
    d.step,
    d.selector,
    d.action,
    d.at,
    d.tokenId,
  ]);
}

/** `content` as stored, independent of the order of its keys. */
export function generationText(g: { number: number; digest: string; content: unknown }): string {
  return vouchedText('svc-generation-mac-v1', [g.number, g.digest, canonicalJson(JSON.stringify(g.content))]);
}

/** Different lists of values always give different texts: each line begins with a length, or `-` for null. */
export function vouchedText(kind: string, values: readonly Value[]): string {
  return `${kind}\n${values.map(line).join('')}`;
}

function line(value: Value): string {
  if (value === null) return '-\n';
  const text = String(value);
  return `${utf8Length(text)}:${text}\n`;
}
