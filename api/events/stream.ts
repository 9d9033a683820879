import { refusal } from '../../domain/errors.js';
import { shareOf } from '../../domain/fair-share.js';
import type { Services } from '../context.js';
import { eventComment, eventStream, eventText } from '../http/event-stream.js';
import type { Reply } from '../http/reply.js';
import { type EventCall, Mail } from './mail.js';

/** After a drain, clients come back at different moments. */
const retryMs = { least: 1000, spread: 4000 };

/** A comment for proxies, and an event because browsers show no comment to their page. */
const alive = `${eventComment}${eventText({ event: 'alive', data: '{}' })}`;

/** `GET /api/events` (CO-20). */
export function openEvents(call: EventCall, services: Services, { commentMs }: { commentMs: number }): Reply {
  if (services.lifecycle.draining) throw refusal('service.draining', 'server is shutting down');
  refuseTooMany(call.caller.id, services);
  return eventStream(eventsOf(call, services, { commentMs, release: services.eventStreams.take(call.caller.id, call.signal) }));
}

function refuseTooMany(userId: string, { config, eventStreams }: Services): void {
  const { maxStreams: max } = config().console;
  if (eventStreams.open >= max) throw refusal('service.unavailable', `${max} event streams are open, and no more may be`);
  if (eventStreams.openOf(userId) < shareOf(max)) return;
  throw refusal(
    'service.unavailable',
    `you have ${shareOf(max)} event streams open here, the most one user may have`,
    'close some of yours',
  );
}

async function* eventsOf(
  call: EventCall,
  services: Services,
  { commentMs, release }: { commentMs: number; release: () => void },
): AsyncGenerator<string> {
  const mail = new Mail(call, services, commentMs);
  let number = 0;
  try {
    for (;;) {
      if (services.lifecycle.draining) {
        yield eventText({ retryMs: retryMs.least + Math.floor(Math.random() * retryMs.spread) });
        return;
      }
      if (mail.mustCheck() && !(await mail.check())) return;
      const events = mail.take();
      if (events.length > 0) yield events.map(({ event, data }) => eventText({ id: String(++number), event, data })).join('');
      // Before the next look, the credential is checked again, in case the news of its end was lost.
      else if (!(await mail.wait())) yield alive;
      if (call.signal.aborted) return;
    }
  } finally {
    mail.close();
    release();
  }
}
