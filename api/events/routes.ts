import { z } from 'zod';
import { type Route, route } from '../http/route.js';
import { openEvents } from './stream.js';

/** `GET /api/events` (CO-20). */
export const eventRoutes = (times: { commentMs: number }): Route[] => [
  route({
    operationId: 'streamEvents',
    method: 'get',
    path: '/api/events',
    summary: 'Stream changes of requests as they happen',
    description:
      'A stream of server-sent events. `request` comes after a request that you may see was created or has changed; its data has `id`, `status`, `version`, `database`, `environment`, `requester`, and `pending_for_me`: whether you can approve it now. Changes that come together are one event. `resync`: changes may have been missed, so ask for what you show again; it is always the first. `alive` comes after 15 s without another. The stream ends with the credential, and when the server stops.',
    tag: 'requests',
    access: 'authenticated',
    status: 200,
    response: z.string(),
    mediaTypes: ['text/event-stream'],
    errors: ['service.draining', 'service.unavailable'],
    longPoll: 'events',
    handle: (call, services) => openEvents(call, services, times),
  }),
];
