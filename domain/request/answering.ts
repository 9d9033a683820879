import type { Execution, StoredRequest } from './types.js';

/** The execution whose result is the request's: the newest, unless an older one has executed the request (ST-18, ST-24). */
export const answeringExecution = ({ status, attempts, execution }: StoredRequest): Execution | null =>
  (status === 'executed' ? attempts.findLast((one) => one.status === 'completed') : undefined) ?? execution;
