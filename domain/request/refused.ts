import type { Caller, Pair } from '../caller.js';
import { forbidden, type GatewayError } from '../errors.js';
import { lacking } from '../lacking.js';
import type { Permission } from '../permission-table.js';
import { can } from '../permissions.js';
import { currentSelectors } from './approval.js';
import { hasDecided, isOwner, mayMove, maySee, type Related } from './relation.js';

/** The same for every request that the caller has nothing to do with, so that nothing of it shows (HT-I6). */
export const notOpen = () => forbidden('this request is not open to you; its requester can share it');

/** Why the caller may not read a request. Callers who have to do with it are told which permission is missing. */
export function unseen(caller: Caller, request: Related): GatewayError {
  const isRelated = mayMove(caller, request) || hasDecided(caller, request);
  if (!isRelated || can(caller, 'request.view', request)) return notOpen();
  return isOwner(caller, request) ? lacking(['request.view'], request) : lackingThere('request.view');
}

/** Why somebody who has to do with a request may not do this to it. Its pair is named to those who may see it. */
export function notPermitted(caller: Caller, request: Related & Pair, permission: Permission): GatewayError {
  const isKnown = isOwner(caller, request) || maySee(caller, request);
  const wanted = isOwner(caller, request) ? permission : (`${permission}:any` as const);
  return isKnown ? lacking([wanted], request) : lackingThere(wanted);
}

const lackingThere = (wanted: string) => forbidden(`you lack ${wanted} on its database and environment`);

/** The refusal for somebody who may move a request, but matches no selector of its current step. */
export function noApprover(request: Related, caller: Caller): GatewayError {
  const waitsFor = maySee(caller, request) ? `: ${currentSelectors(request).join(', ')}` : '';
  return forbidden(`you are not an approver of its current step${waitsFor}`);
}

/** Why the caller may not read results (RS-1). Callers who may not see the request either are told no more than that. */
export function unreadable(caller: Caller, request: Related): GatewayError {
  if (!isOwner(caller, request) && !maySee(caller, request)) return unseen(caller, request);
  return can(caller, 'result.view', request)
    ? forbidden('its results are for its requester, whom it is shared with, and whom the result policy names')
    : lacking(['result.view'], request);
}
