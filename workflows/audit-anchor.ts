import { proxyActivities } from '@temporalio/workflow';
import type { AnchorActivities, AnchorInput } from './messages.js';

/**
 * Tried until it succeeds. The worker limits an attempt to 600 s at most; one that is silent for 10 s is gone with its worker. The server keeps
 * count of the attempts, so that however many there are the history does not grow.
 */
const { giveToAnchor } = proxyActivities<AnchorActivities>({
  startToCloseTimeout: '11 minutes',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

/** Gives the newest waiting checkpoint of the audit log to the anchor outside (AU-88). */
export async function auditAnchor({ oldest }: AnchorInput): Promise<string> {
  const seq = await giveToAnchor(oldest);
  return seq === null ? 'nothing waits' : `anchored ${seq}`;
}
