import { CancellationScope, condition, defineSignal, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import { type OnboardingActivities, type OnboardingInput, onboardingChanged } from './messages.js';

const { expireOnboarding } = proxyLocalActivities<OnboardingActivities>({
  startToCloseTimeout: '2s',
  localRetryThreshold: '2s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '30s' },
});

/** If the clock fires early, the stored row is read at most once per second. */
const leastMs = 1000;
/** Long waits are split, so that no wait exceeds the server's limit. */
const longestMs = 30 * 24 * 3600 * 1000;

/** Waits for the end of an onboarding in Slack (SL-45), and returns its status. The stored row decides; only its id enters the workflow. */
export async function onboarding({ id }: OnboardingInput): Promise<string> {
  let changed = false;
  setHandler(defineSignal(onboardingChanged), () => {
    changed = true;
  });
  // Ignores cancels from the Temporal UI: only a decision or the clock ends an onboarding.
  return await CancellationScope.nonCancellable(async () => {
    for (;;) {
      changed = false;
      const { status, inMs } = await expireOnboarding(id);
      if (inMs === null) return status;
      await condition(() => changed, Math.min(longestMs, Math.max(leastMs, inMs)));
    }
  });
}
