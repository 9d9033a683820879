import type { z } from 'zod';
import { topic } from '../../../db/notifications.js';
import type { Status } from '../../../domain/request/types.js';
import { longPoll } from '../../http/long-poll.js';
import { requestId } from '../../requests/request-id.js';
import { shown } from '../../requests/shown-schema.js';
import { ask } from '../ask.js';
import type { McpContext } from '../context.js';

export type ShownRequest = z.output<typeof shown>;

/** The single read of a request. */
export const show = (context: McpContext, id: string): Promise<ShownRequest> =>
  ask(context, 'showRequest', { params: { id } }, shown);

/**
 * Reads the request until `isThere`, or until the time is up, the process drains or nobody waits any more; returns it as it is then. Each look
 * authenticates the caller again, so a wait ends with the right to see the request. Progress tells the status that it waits in and each change.
 */
export async function follow(
  context: McpContext,
  id: string,
  { ms, isThere }: { ms: number; isThere: (status: Status) => boolean },
): Promise<{ request: ShownRequest; timedOut: boolean }> {
  const { call, services, signal } = context;
  const known = requestId(id);
  let told: Status | null = null;
  const look = async () => {
    const request = await show(context, known);
    const there = isThere(request.status);
    const isNews = request.status !== told && !(told === null && there);
    if (isNews) await context.progress(`the request is ${request.status}`);
    told = request.status;
    return there ? request : null;
  };
  const waiting = { ...call, signal };
  const found = await longPoll(waiting, services, { topics: [topic.request(known)], ms }, look);
  return found === null ? { request: await show(context, known), timedOut: true } : { request: found, timedOut: false };
}
