import { countBacklog } from '../../db/outbox.js';
import { refusal } from '../../domain/errors.js';
import type { Services } from '../context.js';

const freshMs = 1000;
const counted = new WeakMap<Services, { at: number; backlog: Promise<number> }>();

/** OP-72: refuses creations while too many messages wait for Temporal. Each process counts at most once a second. */
export async function refuseAboveBacklog(services: Services): Promise<void> {
  let last = counted.get(services);
  if (last === undefined || performance.now() - last.at > freshMs) {
    last = { at: performance.now(), backlog: countBacklog(services.database) };
    counted.set(services, last);
  }
  const limit = services.config().temporal.maxBacklog;
  const backlog = await last.backlog.catch((error: unknown) => {
    counted.delete(services);
    throw error;
  });
  if (backlog > limit)
    throw refusal('service.unavailable', `${backlog} requests wait for the workflow engine, and ${limit} may`, 'try again later');
}
