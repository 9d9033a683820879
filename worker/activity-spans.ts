import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { type Tracing, traced } from '../tracing/tracing.js';
import { requestOfWorkflow } from '../workflows/messages.js';

/** A span for each activity of a request's workflow. Workflow code knows nothing of it, so histories are what they are without (OP-94). */
export const activitySpans =
  (tracing: Tracing): ActivityInterceptorsFactory =>
  ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const requestId = requestOfWorkflow(info.workflowExecution?.workflowId ?? '');
        if (requestId === null) return next(input);
        const span = { requestId, name: `activity ${info.activityType}`, kind: 'internal' as const };
        return traced(
          tracing,
          span,
          () => next(input),
          (known) => ({ attributes: { 'svc.attempt': info.attempt, 'svc.status': statusOf(known) } }),
        );
      },
    },
  });

const statusOf = (known: unknown): string | null => {
  const { status } = (known ?? {}) as { status?: unknown };
  return typeof status === 'string' ? status : null;
};
