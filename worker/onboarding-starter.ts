import type { Client } from '@temporalio/client';
import { type UntoldOnboarding, untoldOnboardings } from '../db/onboarding-starts.js';
import { onboardingChanged, onboardingWorkflow, onboardingWorkflowId } from '../workflows/messages.js';
import type { Job } from './job.js';
import { createStarter, type Told, tell } from './starter.js';

/** Starts the workflow of each stored onboarding, and tells it of the end. */
export function createOnboardingStarter({ taskQueue, ...told }: Told): Job {
  return createStarter({
    ...told,
    rows: 'onboardings',
    operation: 'onboard',
    untold: untoldOnboardings,
    tell: (client, one) =>
      one.ended ? tell(client, onboardingWorkflowId(one.id), onboardingChanged) : start(client, one, taskQueue),
  });
}

/** One that runs already looks at its row again: it was told before, and is overdue all the same. One that does not go on is replaced. */
const start = (client: Client, { id, stuck }: UntoldOnboarding, taskQueue: string) =>
  client.workflow.signalWithStart(onboardingWorkflow, {
    workflowId: onboardingWorkflowId(id),
    taskQueue,
    args: [{ id }],
    signal: onboardingChanged,
    workflowIdConflictPolicy: stuck ? 'TERMINATE_EXISTING' : 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
