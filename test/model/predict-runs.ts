import type { Of } from './calls.js';
import { type AgentName, agents } from './people.js';
import {
  answer,
  conflict,
  type Expected,
  forbidden,
  invalid,
  isPartlyApplied,
  newestRun,
  notFound,
  prove,
  provenRun,
  type Request,
  type Run,
  type World,
} from './world.js';

const executionConflict: Expected = { status: 409, code: 'execution.conflict' };
const executionGone: Expected = { status: 410, code: 'execution.gone' };
const noExecution: Expected = { status: 404, code: 'execution.not_found' };

const serves = (agent: AgentName, { environment }: Request) =>
  (agents[agent].environments as readonly string[]).includes(environment);

/** AG-33: whoever knows nothing of fences cannot look for what an earlier attempt left. */
const mayFollow = (agent: AgentName, { runs }: Request) => agents[agent].fences || !runs.some((run) => run.unresolved);

/** AG-17. */
export function poll({ requests }: World, agent: AgentName): Expected {
  const offered = requests.filter(
    (request) =>
      request.status === 'dispatched' && !request.reached.dispatch && serves(agent, request) && mayFollow(agent, request),
  );
  return answer(200, { jobs: offered.map(({ name, fence }) => ({ id: name, fence })) });
}

/** AG-29 to AG-36. */
export function claim(request: Request | undefined, { agent, again }: Of<'claim'>, world: World): Expected {
  if (request === undefined) return notFound;
  if (!serves(agent, request)) return forbidden;
  const newest = newestRun(request);
  if (again && newest?.agent === agent && newest.status === 'running') return answer(200, claimed(request, newest));
  if (request.status !== 'dispatched' || request.reached.dispatch || world.suspended.has(request.owner)) return conflict;
  if (!mayFollow(agent, request) || isPartlyApplied(request)) return conflict;
  const run: Run = {
    name: `${request.name}e${request.fence}`,
    agent,
    fence: request.fence,
    status: 'running',
    marker: agents[agent].fences,
    lost: false,
    unresolved: false,
    outcome: null,
    sent: null,
  };
  request.runs.push(run);
  request.status = 'running';
  request.reached.lease = false;
  return answer(200, claimed(request, run));
}

const claimed = (request: Request, run: Run) => ({
  execution_id: run.name,
  request_id: request.name,
  fence: run.fence,
  unresolved_fences: request.runs.filter(({ unresolved }) => unresolved).map(({ fence }) => fence),
  marker: request.mutating && run.marker ? 'required' : 'none',
});

/** Section 5 of the agent's rules. */
export function heartbeat(request: Request | undefined, call: Of<'heartbeat'>): Expected {
  const run = request?.runs.at(-1 - call.run);
  if (request === undefined || run === undefined) return noExecution;
  if (run.agent !== call.agent) return forbidden;
  if (run.fence < request.fence) return executionGone;
  if (run.status !== 'running' || request.reached.lease) return executionConflict;
  return answer(200, { cancelled: request.cancelledBy !== null });
}

/** AG-42 to AG-45. */
export function result(request: Request | undefined, call: Of<'result'>): Expected {
  const run = request?.runs.at(-1 - call.run);
  if (request === undefined || run === undefined) return noExecution;
  if (run.agent !== call.agent) return forbidden;
  if (call.fence === 'other' || call.outcome === 'contradiction') return invalid;
  const sent = JSON.stringify([call.outcome, call.outcome === 'committed' ? null : call.cancelled]);
  if (run.sent === sent) return answer(200, { request_id: request.name });
  if (run.fence < request.fence) {
    if (run.sent === null) late(request, run, call, sent);
    return executionGone;
  }
  const open = accepting.includes(request.status) || (request.status === 'cancelled' && request.cancelledWhileLost);
  if (run.sent === null && run.lost && request.status === 'executed') Object.assign(run, { sent, outcome: call.outcome });
  if (run.sent !== null || !open) return executionConflict;
  Object.assign(run, { sent, ...endOfRun(request, call) });
  settle(request, run);
  request.status = statusAfter(request, call);
  if (request.status === 'cancelled' && provenRun(request) !== undefined) prove(request);
  if (request.status !== 'cancelled') request.reached.window = false;
  return answer(200, { request_id: request.name, status: request.status });
}

const accepting = ['running', 'execution_lost'];

/** AG-44, and RQ-73 of what nobody has claimed again. */
function late(request: Request, run: Run, call: Of<'result'>, sent: string): void {
  const proves = request.status === 'cancelled' && run.unresolved && call.outcome === 'committed';
  if (!proves) {
    Object.assign(run, { sent, outcome: call.outcome, unresolved: run.unresolved && !isHarmless(call) });
    return;
  }
  Object.assign(run, { sent, ...endOfRun(request, call) });
  settle(request, run);
  request.status = 'executed';
  request.reached.window = false;
}

const isHarmless = ({ outcome }: Of<'result'>) => outcome === 'rolled_back' || outcome === 'not_started';

const endOfRun = ({ mutating }: Request, { outcome }: Of<'result'>) => ({
  outcome,
  status: outcome === 'committed' ? 'completed' : 'failed',
  lost: outcome === 'unknown',
  unresolved: outcome === 'unknown' && mutating,
});

/** AG-57, AG-59: a success speaks for every attempt, and what ran under markers ran because no earlier one is applied. */
function settle({ runs }: Request, { outcome, marker }: Run): void {
  const proves = outcome === 'committed' || (marker && (outcome === 'rolled_back' || outcome === 'partial'));
  if (proves) for (const run of runs) run.unresolved = false;
}

/** The table of AG-45. */
function statusAfter(request: Request, call: Of<'result'>): string {
  if (call.outcome === 'committed') return 'executed';
  if (request.status === 'cancelled') return 'cancelled';
  if (call.outcome === 'unknown') return 'execution_lost';
  return request.cancelledBy !== null && isHarmless(call) && call.cancelled !== false ? 'cancelled' : 'failed';
}

/** ST-7, ST-8, ST-11, ST-14 when the timer fires; before that only what TT-6 says of an instant that is reached. */
export function clock(request: Request, { clock: which, fires }: Of<'clock'>): void {
  const { reached, status } = request;
  if (which === 'pending') reached.pending = true;
  if (which === 'approved' && status !== 'pending') reached.window = true;
  if (which === 'dispatch' && status === 'dispatched') reached.dispatch = true;
  if (which === 'lease' && status === 'running') reached.lease = true;
  if (!fires) return;
  if (which === 'pending' && status === 'pending') request.status = 'expired';
  if (which === 'approved' && status === 'approved') expire(request);
  if (which === 'dispatch' && status === 'dispatched' && reached.window) expire(request);
  else if (which === 'dispatch' && status === 'dispatched') request.status = 'approved';
  if (which === 'lease' && status === 'running') lose(request, newestRun(request)!);
}

/** ST-24: unless a lost run has reported that it committed. */
function expire(request: Request): void {
  if (provenRun(request) === undefined) request.status = 'expired';
  else prove(request);
}

/** AG-51, AG-52. */
function lose(request: Request, run: Run): void {
  Object.assign(run, { status: 'failed', lost: true, unresolved: request.mutating });
  const cancelled = request.cancelledBy !== null && !request.mutating;
  request.status = cancelled ? 'cancelled' : 'execution_lost';
  request.reached.window = false;
}
