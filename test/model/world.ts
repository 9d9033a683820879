import { type AgentName, environments, type Person, people } from './people.js';

/** What an outsider may know of the gateway: section 7 of the rules of requests in its plainest form. */
export interface World {
  requests: Request[];
  suspended: Set<Person>;
}

export interface Request {
  /** As the script calls it: `r1`, `r2` ... */
  name: string;
  owner: Person;
  environment: string;
  mutating: boolean;
  noStore: boolean;
  share: string[];
  key: string | null;
  /** All that was asked for, to compare with a repetition under the same key. */
  asked: string;
  status: string;
  decisions: { who: Person; step: number; selector: string; action: 'approve' | 'reject' }[];
  runs: Run[];
  fence: number;
  /** Who asked for the end of the current run, or ended the request. */
  cancelledBy: Person | null;
  cancelledWhileLost: boolean;
  /** Instants that are reached. */
  reached: { pending: boolean; window: boolean; dispatch: boolean; lease: boolean };
}

export interface Run {
  name: string;
  agent: AgentName;
  fence: number;
  /** Whether a later attempt can find out what became of it. */
  marker: boolean;
  status: 'running' | 'completed' | 'failed';
  lost: boolean;
  unresolved: boolean;
  /** What was reported, and its exact text. */
  outcome: string | null;
  sent: string | null;
}

export interface Expected {
  status: number;
  code?: string;
  body?: unknown;
}

export const answer = (status: number, body?: unknown): Expected => ({ status, body });
export const invalid: Expected = { status: 400, code: 'validation.failed' };
export const unauthorized: Expected = { status: 401, code: 'auth.invalid_token' };
export const forbidden: Expected = { status: 403, code: 'auth.forbidden' };
export const notFound: Expected = { status: 404, code: 'request.not_found' };
export const conflict: Expected = { status: 409, code: 'request.conflict' };
export const gone: Expected = { status: 410, code: 'request.gone' };

export const rulesOf = ({ environment }: Request) => environments[environment]!;
export const newestRun = ({ runs }: Request): Run | undefined => runs.at(-1);

/** C14: a part of the write is applied and stays. */
export const isPartlyApplied = ({ runs, mutating }: Request) => mutating && runs.some(({ outcome }) => outcome === 'partial');

/** The run whose result is the request's. */
export const answeringRun = ({ status, runs }: Request): Run | undefined =>
  (status === 'executed' ? runs.findLast((run) => run.status === 'completed') : undefined) ?? runs.at(-1);

/** The run that reported a commit after the next dispatch, if nothing has settled it since. */
export const provenRun = ({ runs }: Request): Run | undefined =>
  runs.findLast((run) => run.unresolved && run.outcome === 'committed');

/** ST-24. */
export function prove(request: Request): void {
  Object.assign(provenRun(request)!, { status: 'completed', lost: false });
  for (const run of request.runs) run.unresolved = false;
  request.status = 'executed';
  request.reached.window = false;
}

/** The first step that its approvals do not satisfy (AV-10); that of an emergency stays the first. */
export function currentStep(request: Request): number {
  const { steps } = rulesOf(request);
  const open = steps.findIndex(({ mode, selectors }, step) => {
    const given = selectors.map((selector) => isGiven(request, step, selector));
    return mode === 'all' ? given.includes(false) : !given.includes(true);
  });
  return open === -1 ? steps.length : open;
}

export const isGiven = ({ decisions }: Request, step: number, selector: string) =>
  decisions.some((one) => one.action === 'approve' && one.step === step && one.selector === selector);

/** The selectors of the current step, those that are satisfied too; none unless it is pending. */
export const selectorsOf = (request: Request): string[] =>
  request.status === 'pending' ? rulesOf(request).steps[currentStep(request)]!.selectors : [];

export const matching = (who: Person, request: Request): string[] =>
  selectorsOf(request).filter((selector) => matches(who, selector));

function matches(who: Person, selector: string): boolean {
  const [kind, name] = selector.split(':');
  return kind === 'user' ? name === who : (people[who].groups as string[]).includes(name!);
}

/** Section 6: others get 403 whatever they try, before anything about the state. */
export const mayMove = (who: Person, request: Request) =>
  mayRead(who, request) || rulesOf(request).steps.some(({ selectors }) => selectors.some((selector) => matches(who, selector)));

/** RQ-2; the current approvers see it too, and so do those who have decided on it (RQ-8). */
export const maySee = (who: Person, request: Request) =>
  mayRead(who, request) || matching(who, request).length > 0 || request.decisions.some((one) => one.who === who);

/** RS-1: to have approved opens no result. */
export const mayRead = (who: Person, request: Request) => request.owner === who || people[who].any || request.share.includes(who);

/** RQ-6, RQ-7: cancel and resume. */
export const mayEnd = (who: Person, request: Request) => people[who].asks && (request.owner === who || people[who].any);

/** What the request's own page shows of the state. */
export const shown = (request: Request) => ({
  id: request.name,
  requester: request.owner,
  status: request.status,
  cancelled_by: request.cancelledBy,
  claimed_by: request.status === 'running' ? newestRun(request)!.agent : null,
  approval_progress: {
    current_step: currentStep(request),
    steps: rulesOf(request).steps.map((_, step) => ({
      index: step,
      approvals: request.decisions.filter((one) => one.step === step).map(({ who, action }) => ({ user: who, action })),
    })),
  },
});

export const executionOf = ({ name, agent, fence, status }: Run) => ({ id: name, agent_id: agent, fence, status });

/** What a list says of it. */
export const listedOf = (request: Request) => ({
  id: request.name,
  status: request.status,
  ...(request.status === 'pending' ? { current_step: currentStep(request) } : {}),
});
