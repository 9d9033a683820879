import { type IncomingMessage, request } from 'node:http';
import type { Loose } from '../support/api.js';

export interface ReadEvent {
  id: string | undefined;
  event: string | undefined;
  data: Loose;
}

export interface EventReader {
  status: number;
  headers: IncomingMessage['headers'];
  /** What has come so far. */
  events: ReadEvent[];
  text(): string;
  /** Resolves once the server has ended the stream. */
  ended: Promise<void>;
  close(): void;
}

/** Opens `GET /api/events` on a connection of its own, and reads it as it comes. */
export function readEvents({ url }: { url: string }, headers: Record<string, string>): Promise<EventReader> {
  return new Promise((resolve, reject) => {
    const call = request(`${url}/api/events`, { headers, agent: false }, (response) => {
      let text = '';
      const events: ReadEvent[] = [];
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        events.splice(0, events.length, ...eventsIn(text));
      });
      const ended = new Promise<void>((end) => {
        response.once('end', () => end());
        response.once('error', () => end());
      });
      const { statusCode: status = 0 } = response;
      resolve({ status, headers: response.headers, events, text: () => text, ended, close: () => void call.destroy() });
    });
    call.once('error', reject);
    call.end();
  });
}

/** The whole events of what has come. Comments are none. */
function eventsIn(text: string): ReadEvent[] {
  const blocks = text.split('\n\n').slice(0, -1);
  return blocks.flatMap((block) => {
    const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
    const data = fields.get('data');
    return data === undefined ? [] : [{ id: fields.get('id'), event: fields.get('event'), data: JSON.parse(data) }];
  });
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
