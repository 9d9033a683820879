import type { Attributes } from './tracing.js';

/** What a span says of its request. All of it is configured or made by the gateway, so no caller chooses a word of it. */
export const aboutRequest = (known: {
  database: string;
  environment: string;
  operation: string;
  status: string | null;
}): Attributes => ({
  'svc.database': known.database,
  'svc.environment': known.environment,
  'svc.operation': known.operation,
  'svc.status': known.status,
});
