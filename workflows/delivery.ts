import { CancellationScope, defineSignal, isCancellation, proxyActivities, setHandler } from '@temporalio/workflow';
import { type DeliverActivities, type DeliveryInput, deliveryChanged } from './messages.js';

// The activity says when it is to run again; these waits are for failures of which it could not. A worker that died is noticed after 20 s.
const { deliver } = proxyActivities<DeliverActivities>({
  startToCloseTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/** Follows one delivery until it has ended (NT-50), and returns its status. The stored row decides; only its id enters the workflow. */
export async function delivery({ id }: DeliveryInput): Promise<string> {
  let attempts: CancellationScope | undefined;
  setHandler(defineSignal(deliveryChanged), () => attempts?.cancel());
  // Ignores cancels from the Temporal UI: only the gateway's configuration ends a delivery early.
  return await CancellationScope.nonCancellable(async () => {
    for (;;) {
      attempts = new CancellationScope();
      try {
        return await attempts.run(() => deliver(id));
      } catch (error) {
        if (!isCancellation(error)) throw error;
      }
    }
  });
}
