import { type Of, write } from './calls.js';
import { environments, type Person, people } from './people.js';
import {
  answer,
  answeringRun,
  conflict,
  currentStep,
  type Expected,
  forbidden,
  gone,
  invalid,
  isGiven,
  isPartlyApplied,
  matching,
  mayEnd,
  mayRead,
  maySee,
  prove,
  provenRun,
  type Request,
  rulesOf,
  selectorsOf,
  type World,
} from './world.js';

/** RQ-14 to RQ-26; whoever may create nothing anywhere hears only that. */
export function create(world: World, call: Of<'create'>): Expected {
  const { who, environment, detail, reason, key, emergency, share, noStore } = call;
  if (!people[who].asks) return forbidden;
  if (emergency && reason === null) return invalid;
  const asked = JSON.stringify([environment, detail, reason, emergency, share, noStore]);
  const known = key === null ? undefined : world.requests.find((one) => one.owner === who && one.key === key);
  if (known !== undefined) return known.asked === asked ? answer(200, { ...created(known), idempotent: true }) : conflict;
  if (!(environment in environments) || detail === 'selec 1') return invalid;
  if (emergency && !people[who].breaksGlass) return forbidden;
  const dispatched = emergency || environments[environment]!.steps.length === 0;
  const request: Request = {
    name: `r${world.requests.length + 1}`,
    owner: who,
    environment,
    mutating: detail === write,
    noStore,
    share,
    key,
    asked,
    status: dispatched ? 'dispatched' : 'pending',
    fence: dispatched ? 1 : 0,
    decisions: [],
    runs: [],
    cancelledBy: null,
    cancelledWhileLost: false,
    reached: { pending: false, window: false, dispatch: false, lease: false },
  };
  world.requests.push(request);
  return answer(201, { ...created(request), idempotent: false });
}

const created = (request: Request) => ({
  id: request.name,
  status: request.status,
  operation: request.mutating ? 'execute_dml' : 'execute_select',
  approvers: selectorsOf(request),
});

/** RQ-50 to RQ-55, AV-10 to AV-13, HD-70. */
export function approve(request: Request, { who, selector }: Of<'approve'>): Expected {
  const { selfApprove, sameApprover } = rulesOf(request);
  if (request.status !== 'pending') return conflict;
  // The admin has made everybody (HD-70).
  if ((request.owner === who || request.owner === 'admin') && !selfApprove) return forbidden;
  const step = currentStep(request);
  if (request.decisions.some((one) => one.who === who && (one.step === step || !sameApprover))) return conflict;
  const own = matching(who, request);
  if (own.length === 0) return forbidden;
  if (selector !== null && !own.includes(selector)) return invalid;
  const open = own.filter((one) => !isGiven(request, step, one) && (selector ?? one) === one);
  if (open.length !== 1) return open.length === 0 ? conflict : invalid;
  request.decisions.push({ who, step, selector: open[0]!, action: 'approve' });
  const next = currentStep(request);
  if (next === rulesOf(request).steps.length) request.status = 'approved';
  const body = { approved_by: who, matched_selector: open[0], step_completed: next, current_step: next };
  return answer(200, { id: request.name, status: request.status, ...body });
}

/** RQ-60, RQ-61. */
export function reject(request: Request, who: Person): Expected {
  if (request.status !== 'pending') return conflict;
  const selector = request.owner === who ? 'requester' : matching(who, request)[0];
  if (selector === undefined) return forbidden;
  request.decisions.push({ who, step: currentStep(request), selector, action: 'reject' });
  request.status = 'rejected';
  return answer(200, { id: request.name, status: 'rejected' });
}

/** RQ-70 to RQ-73. */
export function cancel(request: Request, who: Person): Expected {
  if (!mayEnd(who, request)) return forbidden;
  if (!endBy(who, request) || request.status === 'executed') return conflict;
  const running = request.status === 'running';
  return answer(running ? 202 : 200, {
    id: request.name,
    status: request.status,
    ...(running ? { cancel_requested: true } : {}),
  });
}

/** Whether it had not ended yet; the first wish to end a run is the one that is kept. */
function endBy(who: Person, request: Request): boolean {
  if (request.status === 'running') request.cancelledBy ??= who;
  else if (isCancellable(request) && provenRun(request) !== undefined) prove(request);
  else if (isCancellable(request)) {
    request.cancelledWhileLost = request.status === 'execution_lost';
    Object.assign(request, { status: 'cancelled', cancelledBy: who });
  } else return false;
  return true;
}

const isCancellable = ({ status }: Request) => ['pending', 'approved', 'dispatched', 'execution_lost'].includes(status);

/** RQ-80 to RQ-86. */
export function resume(request: Request, who: Person, world: World): Expected {
  if (!mayEnd(who, request)) return forbidden;
  const { status, runs, reached } = request;
  if (!['approved', 'executed', 'failed', 'execution_lost'].includes(status)) return conflict;
  if (reached.window) return gone;
  const { maxExecutions, retries } = rulesOf(request);
  if (runs.filter((run) => run.status !== 'running' && !run.lost).length >= maxExecutions) return conflict;
  if (isPartlyApplied(request) || (status === 'failed' && !retries)) return conflict;
  if (runs.some((run) => run.unresolved && !run.marker)) return conflict;
  if (world.suspended.has(request.owner)) return conflict;
  Object.assign(request, { status: 'dispatched', fence: request.fence + 1, cancelledBy: null });
  reached.dispatch = false;
  return answer(200, { id: request.name, status: 'dispatched' });
}

/** ST-19: every request of the owner that has not ended. */
export function suspend(world: World, who: Person): Expected {
  const known = world.suspended.has(who);
  world.suspended.add(who);
  const ended = known ? [] : world.requests.filter((one) => one.owner === who && endBy('admin', one));
  return answer(200, { id: who, cancelled_requests: ended.map(({ name }) => name).toSorted() });
}

/** RQ-11, RQ-36: what the caller could show, or approve now; newest first. */
export function list(world: World, { who, pendingForMe }: Of<'list'>): Expected {
  const seen = world.requests.filter((request) => (pendingForMe ? mayApprove(who, request) : maySee(who, request)));
  return answer(200, { requests: seen.toReversed().map(({ name, status }) => ({ id: name, status })) });
}

/** Whether there is a selector with which an approval would be taken. */
const mayApprove = (who: Person, request: Request) =>
  matching(who, request).some((selector) => {
    if (request.reached.pending) return false;
    const tried = structuredClone(request);
    return approve(tried, { call: 'approve', who, request: 0, selector }).status === 200;
  });

/** RS-31 to RS-40 without an expiry. */
export function content(request: Request, who: Person): Expected {
  if (!mayRead(who, request)) return forbidden;
  const run = answeringRun(request);
  if (run === undefined || run.status === 'running') return { status: 404, code: 'result.not_found' };
  if (run.status === 'completed' && request.noStore) return { status: 410, code: 'result.gone' };
  return answer(200, { execution_id: run.name, success: run.status === 'completed' });
}
