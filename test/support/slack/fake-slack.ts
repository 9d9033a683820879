import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SlackMethod } from '../../../runtime/slack-client.js';
import type { Channel, Json, Message, SlackAnswer } from './kept.js';
import { Workspace } from './workspace.js';

/**
 * What goes wrong with a call. The call does nothing then but where it says so; with `waitMs` alone it is carried out, and the answer is late.
 */
export interface Fault {
  /** `{"ok":false,"error":…}` with status 200. */
  error?: string;
  status?: number;
  /** Status 429 and this `Retry-After`. */
  retryAfter?: number;
  /** Sent as it is. */
  body?: string;
  noAnswer?: 'hangs' | 'breaks';
  waitMs?: number;
  /** The call has its effect all the same, and only the answer is wrong. */
  carriedOut?: boolean;
}

export interface SlackCall {
  method: string;
  args: Json;
  at: number;
  /** What it was answered; null where no answer of Slack's was sent. */
  answer: SlackAnswer | null;
}

export interface FakeSlackOptions {
  botToken?: string;
  /** `#db-approvals` if absent. */
  channels?: readonly string[] | undefined;
  port?: number;
}

export type FakeSlack = Awaited<ReturnType<typeof startFakeSlack>>;

/** A stand-in of Slack's Web API on loopback (SL-70). `close` it after the test. */
export async function startFakeSlack({ botToken = 'xoxb-test', channels = ['#db-approvals'], port = 0 }: FakeSlackOptions = {}) {
  const workspace = new Workspace();
  for (const name of channels) workspace.addChannel(name);
  const calls: SlackCall[] = [];
  const queued = new Map<string, Fault[]>();
  const standing = new Map<string, Fault>();
  const faultOf = (method: string) => queued.get(method)?.shift() ?? standing.get(method) ?? standing.get('*') ?? null;
  let server = await listen(port);
  const ownPort = (server.address() as AddressInfo).port;

  async function listen(on: number): Promise<Server> {
    const opened = createServer((request, response) => void answer(request, response).catch(() => request.socket.destroy()));
    opened.listen(on, '127.0.0.1');
    await once(opened, 'listening');
    return opened;
  }

  let running = 0;
  let isStopping = false;

  /** What was carried out is answered before the stand-in stops: an answer that is lost makes the gateway post again (SL-61). */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isStopping) return void request.socket.destroy();
    running += 1;
    try {
      await carryOut(request, response);
      if (response.writableEnded && !response.closed) await once(response, 'close');
    } finally {
      running -= 1;
    }
  }

  async function carryOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, args, refusal } = await readCall(request, botToken);
    const fault = faultOf(method);
    const call: SlackCall = { method, args, at: Date.now(), answer: null };
    calls.push(call);
    const fails =
      fault !== null && (fault.error ?? fault.status ?? fault.retryAfter ?? fault.body ?? fault.noAnswer) !== undefined;
    const done =
      refusal ??
      (fails && fault.carriedOut !== true ? null : (workspace.methods[method]?.(args) ?? { ok: false, error: 'unknown_method' }));
    if (fault?.waitMs !== undefined) await sleep(fault.waitMs);
    if (fault?.noAnswer === 'hangs') return;
    if (fault?.noAnswer === 'breaks') return void request.socket.destroy();
    call.answer = fails ? (fault.error === undefined ? null : { ok: false, error: fault.error }) : done;
    const limited = fault?.retryAfter !== undefined;
    response.writeHead(fault?.status ?? (limited ? 429 : 200), {
      'content-type': 'application/json; charset=utf-8',
      ...(limited ? { 'retry-after': String(fault.retryAfter) } : {}),
    });
    response.end(fault?.body ?? JSON.stringify(call.answer ?? { ok: false, error: limited ? 'ratelimited' : 'internal_error' }));
  }

  async function stop(): Promise<void> {
    if (!server.listening) return;
    isStopping = true;
    for (let waits = 0; running > 0 && waits < 500; waits += 1) await sleep(10);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }

  return {
    ...views(workspace),
    workspace,
    botToken,
    /** For `slack.api_base_url`. */
    apiBaseUrl: `http://127.0.0.1:${ownPort}/api/`,
    /** All calls in the order of their arrival. */
    calls,
    callsOf: (method: SlackMethod) => calls.filter((call) => call.method === method),
    /** The next calls of the method go wrong, one after the other. */
    next: (method: SlackMethod, ...faults: Fault[]) => void queued.set(method, [...(queued.get(method) ?? []), ...faults]),
    /** All calls of the method, or of all methods, go wrong until `null` ends it. */
    always: (method: SlackMethod | '*', fault: Fault | null) =>
      void (fault === null ? standing.delete(method) : standing.set(method, fault)),
    /** Stops listening; what Slack has stored stays. */
    stop,
    start: async () => {
      isStopping = false;
      server = await listen(ownPort);
    },
    close: stop,
  };
}

/** What people see now. */
function views(workspace: Workspace) {
  const channel = (name = 'C1'): Channel => {
    const found = workspace.find(name);
    if (found === undefined) throw new Error(`no channel ${name}`);
    return found;
  };
  return {
    channel,
    /** The messages of a channel that are not replies, with their threads, oldest first. */
    cards: (name?: string): Message[] => channel(name).messages,
    /** Direct messages to a person, oldest first. */
    directMessages: (user: string): Message[] => workspace.directOf(user).messages,
    /** What only this person sees, in all channels, oldest first. */
    ephemeralsOf: (user: string) => workspace.ephemerals.filter((message) => message.user === user),
    /** The modals that a person has open, the newest last. */
    openViews: (user: string) => workspace.views.filter((view) => view.isOpen && view.user === user),
    /** The buttons of a message. */
    buttonsOf: ({ blocks }: Message): { action_id: string; value: string }[] =>
      blocks.flatMap(({ type, elements }) => (type === 'actions' ? elements : [])),
    /** Everything that stands in channels now, direct messages left out: texts of messages, blocks and threads. */
    channelText: (): string => JSON.stringify(workspace.channels.filter(({ id }) => id.startsWith('C'))),
  };
}

async function readCall(
  request: IncomingMessage,
  botToken: string,
): Promise<{ method: string; args: Json; refusal: SlackAnswer | null }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const url = new URL(request.url ?? '', 'http://slack');
  const method = url.pathname.replace(/^\/api\//, '');
  const refuse = (error: string) => ({ method, args: {}, refusal: { ok: false, error } as const });
  if (request.headers.authorization === undefined) return refuse('not_authed');
  if (request.headers.authorization !== `Bearer ${botToken}`) return refuse('invalid_auth');
  const isLookup = method === 'users.lookupByEmail';
  if (isLookup !== (request.method === 'GET')) return refuse('invalid_arguments');
  if (isLookup) return { method, args: Object.fromEntries(url.searchParams), refusal: null };
  if (!/^application\/json(; ?charset=utf-8)?$/i.test(request.headers['content-type'] ?? '')) return refuse('invalid_post_type');
  try {
    const args: unknown = JSON.parse(Buffer.concat(chunks).toString());
    return typeof args === 'object' && args !== null && !Array.isArray(args)
      ? { method, args, refusal: null }
      : refuse('json_not_object');
  } catch {
    return refuse('invalid_json');
  }
}
