import { type Reply, stream } from './reply.js';

interface ServerEvent {
  id?: string;
  event?: string;
  /** How long a client waits before it reconnects. */
  retryMs?: number;
  data?: string;
}

/** One event as a stream carries it. None of its texts may hold a line break. */
export function eventText({ id, event, retryMs, data }: ServerEvent): string {
  const lines = Object.entries({ id, event, retry: retryMs, data }).filter(([, value]) => value !== undefined);
  return `${lines.map(([name, value]) => `${name}: ${value}\n`).join('')}\n`;
}

/** A keep-alive for proxies. */
export const eventComment = ':\n\n';

/** A stream of server-sent events that proxies must not buffer. */
export const eventStream = (events: AsyncIterable<string>): Reply =>
  stream('text/event-stream', events, { 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' });
