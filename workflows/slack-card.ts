import { CancellationScope, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import { type SlackCardActivities, type SlackCardInput, slackCardChanged } from './messages.js';

// The activity says when its next attempt is due; these waits are for trouble with the gateway's database. One run begins no call after 6 s, and a call with
// all that belongs to it takes at most 28 s.
const { postCard } = proxyActivities<SlackCardActivities>({
  startToCloseTimeout: '35s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/** Sends what a card has to say, one call after another (SL-60), until nothing is left. The stored rows decide; only the card's id enters the workflow. */
export async function slackCard({ id }: SlackCardInput): Promise<void> {
  let asked = true;
  setHandler(defineSignal(slackCardChanged), () => {
    asked = true;
  });
  // Ignores cancels from the Temporal UI: what is stored is sent.
  await CancellationScope.nonCancellable(async () => {
    while (asked) {
      asked = false;
      await postCard(id);
    }
  });
}
