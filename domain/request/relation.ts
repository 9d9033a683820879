import type { Caller, Pair } from '../caller.js';
import { can } from '../permissions.js';
import { matchesSelector } from '../selectors.js';
import { currentSelectors } from './approval.js';
import type { StoredRequest } from './types.js';

export type Related = Pick<
  StoredRequest,
  'requester' | 'database' | 'environment' | 'policy' | 'shareSelectors' | 'status' | 'decisions'
>;

export const isOwner = (caller: Caller, request: Pick<StoredRequest, 'requester'>) =>
  caller.kind === 'user' && caller.id === request.requester;

const isShared = (caller: Caller, request: Related) =>
  request.shareSelectors.some(
    (selector) => matchesSelector(caller, selector, request) || (selector === 'requester' && isOwner(caller, request)),
  );

/** Whether the caller approved or rejected it, at any step. Whoever did may go on reading it (RQ-8). */
export const hasDecided = (caller: Caller, request: Pick<StoredRequest, 'decisions'>) =>
  caller.kind === 'user' && request.decisions.some(({ userId }) => userId === caller.id);

/** Who may get an answer other than 403 to approve, reject, cancel or resume (requests.md section 6, first sentence). */
export function mayMove(caller: Caller, request: Related): boolean {
  const anyStep = request.policy?.steps.flatMap((step) => step.approvers.map(({ selector }) => selector)) ?? [];
  return (
    isOwner(caller, request) ||
    can(caller, 'request.view', request, 'any') ||
    anyStep.some((selector) => matchesSelector(caller, selector, request)) ||
    isShared(caller, request)
  );
}

/** RQ-2: whether show, lists and executions are open to the caller. The SQL of the lists must say the same (RQ-11). */
export function maySee(caller: Caller, request: Related): boolean {
  if (!can(caller, 'request.view', request)) return false;
  return (
    isOwner(caller, request) ||
    can(caller, 'request.view', request, 'any') ||
    hasDecided(caller, request) ||
    currentSelectors(request).some((selector) => matchesSelector(caller, selector, request)) ||
    isShared(caller, request)
  );
}

/** RS-1: whether the caller may read results. `access` is the list of the result policy in force now. */
export function mayReadResult(caller: Caller, request: Related, access: readonly string[]): boolean {
  const reach = resultReach(caller, request, access);
  return reach === 'all' || (reach === 'related' && (isOwner(caller, request) || isShared(caller, request)));
}

/** RS-1 for a whole pair: all its results, only those of own and shared requests, or none. */
export function resultReach(caller: Caller, pair: Pair, access: readonly string[]): 'all' | 'related' | 'none' {
  if (!can(caller, 'result.view', pair)) return 'none';
  const all = can(caller, 'result.view', pair, 'any') || access.some((selector) => matchesSelector(caller, selector, pair));
  return all ? 'all' : 'related';
}

type Relation = 'requested' | 'decided' | 'can_decide';

/** What the caller has to do with a request, as lists and show say it. */
export const relatedBy = (holds: Record<Relation, boolean>): Relation[] =>
  (['requested', 'decided', 'can_decide'] as const).filter((relation) => holds[relation]);
