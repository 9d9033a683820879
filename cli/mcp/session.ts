import { cleanName } from '../../domain/client-name.js';
import { tryJson } from '../../lib/json/read.js';
import type { Client, Reply } from '../client.js';
import { type CommandFailure, failure } from '../failure.js';
import type { RequestMessage } from './message.js';

/** A session of the server, as headers of the calls in it. */
export interface Opened {
  headers: Readonly<Record<string, string>>;
}

export const accepted = 'application/json, text/event-stream';

/** The one session that all calls share (CL-47). Where the server has forgotten it, the client's own `initialize` makes another (CL-48). */
export class Session {
  private readonly client: Client;
  private readonly note: (text: string) => void;
  private opening: RequestMessage | null = null;
  private opened: Opened | null = null;
  private reopening: Promise<Opened> | null = null;
  private isReady = false;
  /** The protocol version that both sides agreed on; null before. */
  version: string | null = null;

  constructor(client: Client, note: (text: string) => void) {
    this.client = client;
    this.note = note;
  }

  /** Posts the client's `initialize`; gives the server's answer. A former session ends. */
  async initialize(message: RequestMessage): Promise<string> {
    const former = this.opened;
    const reply = await this.post(message.text);
    const opened = openedBy(reply);
    if (opened === null) return reply.text;
    this.opening = message;
    this.opened = opened;
    this.isReady = false;
    this.version = tryJson(reply.text)?.get('result')?.get('protocolVersion')?.string() ?? null;
    if (former !== null) await this.end(former, 10_000).catch(() => {});
    return reply.text;
  }

  get hasElicitation(): boolean {
    return this.opening?.params?.get('capabilities')?.get('elicitation')?.kind === 'object';
  }

  /** Name and version of the client, each percent-encoded; null before `initialize`. */
  get askedBy(): string | null {
    const info = this.opening?.params?.get('clientInfo');
    const parts = [info?.get('name')?.string(), info?.get('version')?.string()];
    return info === undefined ? null : parts.map((part) => encodeURIComponent(cleanName(part ?? ''))).join(' ');
  }

  /** The session for a call, opened again where it was lost; null before `initialize`: such a call works without one (MC-12). */
  async current(): Promise<Opened | null> {
    if (this.opened !== null || this.opening === null) return this.opened;
    this.reopening ??= this.reopen(this.opening).finally(() => {
      this.reopening = null;
    });
    return this.reopening;
  }

  /** The server does not know this session any more. */
  lose(session: Opened): void {
    if (this.opened === session) this.opened = null;
  }

  /** The client has said `notifications/initialized`. */
  ready(): void {
    this.isReady = true;
  }

  /** Ends the session, if there is one, within `ms`. */
  async close(ms: number): Promise<void> {
    if (this.opened !== null) await this.end(this.opened, ms);
    this.opened = null;
  }

  private async end({ headers }: Opened, ms: number): Promise<void> {
    // What the command waits for has ended by now: this call has its own time.
    const signal = new AbortController().signal;
    await this.client.call({ method: 'DELETE', path: ['mcp'], headers, timeoutMs: ms, signal, accept: [404] });
  }

  private async reopen(opening: RequestMessage): Promise<Opened> {
    const opened = openedBy(await this.post(opening.text));
    if (opened === null) throw failure('server_error', 'the server opened no session');
    if (this.isReady) {
      const body = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
      await this.client.call({ method: 'POST', path: ['mcp'], body, headers: { accept: accepted, ...opened.headers } });
    }
    this.opened = opened;
    this.note('the server had lost the session; a new one was opened');
    return opened;
  }

  /** A session that is made twice because an answer was lost only costs the first one, which ends by itself. */
  private post(body: string): Promise<Reply> {
    return this.client.call({ method: 'POST', path: ['mcp'], body, headers: { accept: accepted }, repeatable: true });
  }
}

function openedBy({ headers }: Reply): Opened | null {
  const id = headers['mcp-session-id'];
  const version = headers['mcp-protocol-version'];
  if (typeof id !== 'string') return null;
  return { headers: { 'mcp-session-id': id, ...(typeof version === 'string' ? { 'mcp-protocol-version': version } : {}) } };
}

export const isLost = ({ code }: CommandFailure): boolean => code === 'mcp_session.not_found';
