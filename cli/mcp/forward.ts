import type { IncomingHttpHeaders } from 'node:http';
import { tryJson } from '../../lib/json/read.js';
import { sleep } from '../../lib/sleep.js';
import { CommandFailure, failure } from '../failure.js';
import { answerFailure, type Bridge } from './bridge.js';
import { EventReader, maxEventBytes } from './events.js';
import type { Flight } from './flight.js';
import { idOf, type RequestMessage } from './message.js';
import { accepted, isLost, type Opened } from './session.js';

/** Changes the answer's text on its way to the client: lists, to which this machine adds its own. */
export type Shape = (answer: string) => string;

/** CL-48. */
const maxResumes = 5;
/** The server says something every 15 s (MC-22). */
const silenceMs = 60_000;

/** Sends a request to the server and its messages to the client as they come (CL-47). Never rejects. */
export async function forward(bridge: Bridge, message: RequestMessage, flight: Flight, shape: Shape | null): Promise<void> {
  try {
    const session = await bridge.session.current();
    flight.session = session;
    await new Forwarding(bridge, flight, shape).run(message.text, session);
  } catch (error) {
    if (error instanceof CommandFailure && isLost(error)) loseSession(bridge, flight);
    await answerFailure(bridge, flight, error);
  }
}

/** Calls in flight end with the session, and are not repeated (CL-48). */
function loseSession(bridge: Bridge, { session }: Flight): void {
  if (session === null) return;
  bridge.session.lose(session);
  const gone = failure('server_error', 'the session is gone; check the request before calling again');
  for (const other of bridge.flights.values()) if (other.session === session) other.stop.abort(gone);
}

class Forwarding {
  private readonly bridge: Bridge;
  private readonly flight: Flight;
  private readonly shape: Shape | null;
  private events = new EventReader();
  private plain: string[] = [];
  private plainBytes = 0;
  private lastId: string | null = null;
  private isAnswered = false;

  constructor(bridge: Bridge, flight: Flight, shape: Shape | null) {
    this.bridge = bridge;
    this.flight = flight;
    this.shape = shape;
  }

  async run(body: string, session: Opened | null): Promise<void> {
    const headers = { accept: session === null ? 'application/json' : accepted, ...session?.headers };
    const { streamMs } = this.bridge.context.terminal.limits;
    // Without a session nothing is said before the answer.
    await this.call('POST', headers, { body, timeoutMs: session === null ? streamMs : silenceMs });
    for (let tried = 0; !this.isAnswered && !this.flight.isCancelled; tried += 1) {
      if (session === null || this.lastId === null || tried === maxResumes) throw broken();
      this.bridge.note('a stream broke; resuming it');
      await sleep(this.bridge.context.terminal.limits.retryPauseMs * 2 ** tried, this.flight.stop.signal);
      this.flight.stop.signal.throwIfAborted();
      await this.call(
        'GET',
        { accept: 'text/event-stream', ...session.headers, 'last-event-id': this.lastId },
        { timeoutMs: silenceMs },
      );
    }
  }

  /** One connection. It may break after its stream has begun: `run` sees that no answer came. */
  private async call(
    method: 'POST' | 'GET',
    headers: Record<string, string>,
    more: { body?: string; timeoutMs: number },
  ): Promise<void> {
    this.events = new EventReader();
    try {
      await this.bridge.context.client().call({
        method,
        path: ['mcp'],
        headers,
        ...more,
        signal: this.flight.stop.signal,
        onPart: (part, answered) => this.take(part, answered),
      });
      if (this.plain.length > 0) await this.deliver(this.plain.join(''));
    } catch (error) {
      this.flight.stop.signal.throwIfAborted();
      if (this.lastId === null || !isPassing(error)) throw error;
    }
  }

  private async take(part: Uint8Array, headers: IncomingHttpHeaders): Promise<void> {
    this.flight.begin();
    if (!headers['content-type']?.startsWith('text/event-stream')) return this.keepPlain(part);
    for (const { id, data } of this.events.feed(part)) {
      if (data !== null) await this.deliver(data);
      this.lastId = id ?? this.lastId;
    }
  }

  /** The whole of an answer that is no stream; its characters are decoded together. */
  private keepPlain(part: Uint8Array): void {
    this.plainBytes += part.byteLength;
    if (this.plainBytes > maxEventBytes) throw failure('server_error', 'the server sent an answer that is too long');
    this.plain.push(Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('latin1'));
  }

  private async deliver(received: string): Promise<void> {
    const whole = this.plain.length > 0 ? Buffer.from(received, 'latin1').toString('utf8') : received;
    // Only between tokens: a client that takes either for the end of a line would read two halves.
    const text = whole.replace(/[\r\n]/g, ' ');
    const json = tryJson(text);
    if (json === null) throw failure('server_error', 'the server sent something that is not a message');
    const id = idOf(json.get('id'));
    const isRequest = json.get('method') !== undefined;
    this.isAnswered ||= this.plain.length > 0 || (!isRequest && id === this.flight.id);
    if (this.flight.isCancelled) return;
    if (isRequest && id !== null) {
      this.flight.asked.add(id);
      this.bridge.questions.set(id, this.flight);
    }
    await this.bridge.writer.send(this.isAnswered && this.shape !== null ? this.shape(text) : text);
  }
}

const broken = () => failure('network_error', 'the connection broke before the answer; check the request before calling again');

/** What may be over at the next try: the network, a proxy in between, or too many calls at a time. */
const isPassing = (error: unknown): boolean =>
  error instanceof CommandFailure &&
  (error.code === 'network_error' || error.code === 'service.unavailable' || error.code === 'rate.limited');
