import { ApplicationFailure } from '@temporalio/activity';

/** Temporal keeps this in the workflow's history, which must not hold what a database, another server or a stack says. It retries, after `nextRetryMs` or as the workflow says. */
export function failure(message: string, type: string, nextRetryMs?: number): ApplicationFailure {
  const told = ApplicationFailure.create({
    message,
    type,
    ...(nextRetryMs === undefined ? {} : { nextRetryDelay: nextRetryMs }),
  });
  told.stack = '';
  return told;
}
