import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  patched,
  proxyLocalActivities,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { clockSummary, countedAt, newer, readNews, readView } from './known.js';
import {
  type KnownView,
  type RequestInput,
  type RequestState,
  requestOfWorkflow,
  requestSignals,
  type StepActivities,
  stateQuery,
} from './messages.js';
import { createShown } from './shown.js';

const { step } = proxyLocalActivities<StepActivities>({
  startToCloseTimeout: '2s',
  localRetryThreshold: '2s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '30s' },
});

/** If a clock fires early, the stored state is read at most once per second. */
const leastAfterFiringMs = 1000;
/** Long waits are split, so that even a forged instant never exceeds the server's limit. */
const longestTimerMs = 30 * 24 * 3600 * 1000;

/**
 * Follows one request: waits for news and for its clock, makes the clock's move through `step`, and ends with a final status (ST-22), which
 * it returns. The stored state decides. Only ids, names, enums and instants enter the workflow.
 */
export async function request(input: RequestInput | undefined): Promise<string> {
  // Operators can start it by hand, with any input; its own id says which request it follows.
  const id = requestOfWorkflow(workflowInfo().workflowId) ?? '';
  // Signals are delivered before the first line below runs, so everything that handlers touch is declared here.
  let told: KnownView | undefined;
  let readAgain = false;
  let stored = finalView(input?.view);
  const timer = createTimer();
  const show = createShown();
  for (const name of requestSignals) {
    setHandler(defineSignal<[unknown]>(name), (news) => {
      const known = readNews(news);
      if (known === undefined) readAgain = true;
      else if (told === undefined || known.version > told.version) told = countedAt(known, Date.now());
    });
  }
  setHandler(defineQuery<RequestState>(stateQuery), () => stateOf(stored, timer.at()));

  // Ignores cancels from the Temporal UI: only the gateway's own cancel ends a request.
  return await CancellationScope.nonCancellable(async () => {
    stored ??= await step(id, null);
    // News that came with the start, or during the step, may have reopened the request.
    if (stored.final) stored = newer(stored, told);
    while (!stored.final) {
      show(stored);
      timer.arm(stored.clock);
      await condition(() => told !== undefined || readAgain || timer.hasFired());
      // An end that is not newer came late, or the gateway's database is an older copy, or the known version is forged.
      if (told?.final && told.version <= stored.version && patched('read-after-an-older-end')) readAgain = true;
      else stored = newer(stored, told);
      told = undefined;
      if (!stored.final && (readAgain || timer.hasFired())) {
        readAgain = false;
        const kind = timer.takeFired() ? (stored.clock?.kind ?? null) : null;
        const answer: KnownView = await step(id, kind);
        stored = newer(answer, told);
        told = undefined;
      }
      if (!stored.final && workflowInfo().continueAsNewSuggested)
        await continueAsNew<typeof request>({ id, view: asInput(stored) });
    }
    show(stored);
    return stored.status;
  });
}

/** A start with a final view ends in its first task, without reading the stored state. */
function finalView(view: unknown): KnownView | undefined {
  const known = readView(view);
  return known?.final ? known : undefined;
}

const asInput = (view: KnownView) => view as RequestInput['view'];

function stateOf(stored: KnownView | undefined, clock: string | null): RequestState {
  if (stored === undefined) return { stored: null, clock };
  return { stored: { version: stored.version, status: stored.status, deadline: stored.clock?.at ?? null }, clock };
}

/** One timer at a time, by Postgres's remaining time. It is set again when the instant changes or after it has fired. */
function createTimer() {
  let running: { at: string; scope: CancellationScope } | undefined;
  let fired = false;
  let leastMs = 1;
  const stop = () => {
    running?.scope.cancel();
    running = undefined;
  };
  return {
    at: () => running?.at ?? null,
    hasFired: () => fired,
    takeFired() {
      const was = fired;
      if (was) {
        fired = false;
        running = undefined;
        leastMs = leastAfterFiringMs;
      }
      return was;
    },
    arm(clock: KnownView['clock']) {
      if (running !== undefined && running.at === clock?.at) return;
      stop();
      if (clock === null) return;
      const scope = new CancellationScope();
      const ms = Math.min(longestTimerMs, Math.max(leastMs, clock.inMs));
      leastMs = 1;
      running = { at: clock.at, scope };
      scope
        .run(() => sleep(ms, { summary: clockSummary(clock) }))
        .then(
          () => {
            fired = true;
          },
          () => {},
        );
    },
  };
}
