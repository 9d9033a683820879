import { errorText, rpcCodes } from '../../domain/json-rpc.js';
import { within } from '../../lib/deadline.js';
import { CommandFailure, failure } from '../failure.js';
import { answerFailure, type Bridge, problemOf, withdrawQuestions } from './bridge.js';
import { createFlight, type Flight } from './flight.js';
import { forward } from './forward.js';
import { type Line, readLines } from './lines.js';
import { localWork, shapeOf } from './local.js';
import { idOf, type Message, type RequestMessage, readMessage } from './message.js';
import { accepted, isLost, type Opened } from './session.js';

/** More than the server takes of one session at a time (MC-20), and few enough to keep what they are answered. */
const maxFlights = 32;
/** How long running calls may still be answered after input ends; clients kill after two seconds. */
const graceMs = 1_000;

/** Handles the client's messages until its input ends. Batches, and requests other than `initialize`, run concurrently; everything else is handled in order. */
export async function serve(bridge: Bridge): Promise<void> {
  const running = new Set<Promise<void>>();
  for await (const line of readLines(bridge.context.terminal.stdin, bridge.signal)) {
    const message = messageOf(line);
    if (message instanceof Error) await refuse(bridge, null, rpcCodes.parse, message.message);
    else if (message.kind === 'notification') await notify(bridge, message);
    else if (message.kind === 'response') await takeAnswer(bridge, message);
    else if (message.kind === 'request' && message.method === 'initialize') await initialize(bridge, message);
    else await start(bridge, message, running);
  }
  await settle(bridge, running);
}

function messageOf(line: Line): Message | Error {
  if ('problem' in line) return new Error(line.problem);
  return readMessage(line.text) ?? new Error('a message must be JSON on one line');
}

async function refuse({ writer }: Bridge, id: string | null, rpcCode: number, message: string): Promise<void> {
  await writer.send(errorText(id, { rpcCode, message, code: 'validation.failed', hint: null }));
}

async function initialize(bridge: Bridge, message: RequestMessage): Promise<void> {
  const flight = createFlight(message.id);
  try {
    const answer = await bridge.session.initialize(message);
    await bridge.writer.send(answer.replace(/[\r\n]/g, ' '));
  } catch (error) {
    await answerFailure(bridge, flight, error);
  }
}

/** Starts the work on a request, or on what only the server understands, and does not wait for it. */
async function start(
  bridge: Bridge,
  message: Extract<Message, { kind: 'request' | 'other' }>,
  running: Set<Promise<void>>,
): Promise<void> {
  const id = message.kind === 'request' ? message.id : null;
  if (id !== null && bridge.flights.has(id)) return busy(bridge, [id], 'mcp.conflict', 'this id is in use');
  const ids = message.kind === 'request' ? [message.id] : message.ids;
  if (running.size >= maxFlights) return busy(bridge, ids, 'rate.limited', `at most ${maxFlights} calls at a time`);
  const flight = createFlight(id ?? 'null');
  const work = message.kind === 'request' ? oneRequest(bridge, message, flight) : passOn(bridge, message);
  const done = work.finally(() => {
    running.delete(done);
    flight.begin();
  });
  running.add(done);
}

async function busy({ writer }: Bridge, ids: readonly string[], code: string, message: string): Promise<void> {
  for (const id of ids) await writer.send(errorText(id, { rpcCode: rpcCodes.internal, message, code, hint: null }));
}

async function oneRequest(bridge: Bridge, message: RequestMessage, flight: Flight): Promise<void> {
  const end = () => flight.stop.abort(bridge.signal.reason);
  bridge.signal.addEventListener('abort', end, { once: true });
  bridge.flights.set(flight.id, flight);
  try {
    const local = localWork(bridge, message, flight);
    await (local === null ? forward(bridge, message, flight, shapeOf(bridge, message)) : local());
    await withdrawQuestions(bridge, flight);
  } finally {
    bridge.flights.delete(flight.id);
    bridge.signal.removeEventListener('abort', end);
  }
}

/** A batch, or what is no message: one answer as JSON. Only what the server has can be reached in a batch. */
async function passOn(bridge: Bridge, { text, ids }: Extract<Message, { kind: 'other' }>): Promise<void> {
  let opened: Opened | null = null;
  try {
    opened = await bridge.session.current();
    const headers = { accept: 'application/json', ...opened?.headers };
    const { callMs, streamMs } = bridge.context.terminal.limits;
    const timeoutMs = ids.length === 0 ? callMs : streamMs;
    const { signal } = bridge;
    const call = { method: 'POST', path: ['mcp'], body: text, headers, signal, timeoutMs } as const;
    const { text: answer } = await bridge.context.client().call(call);
    if (answer.trim() !== '') await bridge.writer.send(answer.replace(/[\r\n]/g, ' '));
  } catch (error) {
    if (bridge.signal.aborted) return;
    forget(bridge, opened, error);
    for (const id of ids.length === 0 ? [null] : ids)
      await bridge.writer.send(errorText(id, { rpcCode: rpcCodes.internal, ...problemOf(error) }));
  }
}

/** A second try does no harm: the server takes a notification twice, and the first answer to a question. */
async function post({ context, signal }: Bridge, body: string, opened: Opened | null): Promise<void> {
  const headers = { accept: accepted, ...opened?.headers };
  await context.client().call({ method: 'POST', path: ['mcp'], body, headers, signal, repeatable: true });
}

function forget({ session }: Bridge, opened: Opened | null, error: unknown): void {
  if (opened !== null && error instanceof CommandFailure && isLost(error)) session.lose(opened);
}

async function notify(bridge: Bridge, message: Extract<Message, { kind: 'notification' }>): Promise<void> {
  const { method, params, text } = message;
  if (method === 'notifications/cancelled') {
    const flight = bridge.flights.get(idOf(params?.get('requestId')) ?? '');
    if (flight !== undefined) return void cancel(bridge, flight, text);
  }
  if (method === 'notifications/initialized') bridge.session.ready();
  await passAlong(bridge, text, null);
}

/** The server can end a call only when it has begun there. */
async function cancel(bridge: Bridge, flight: Flight, text: string): Promise<void> {
  if (flight.isCancelled) return;
  flight.isCancelled = true;
  if (flight.session === null) return flight.stop.abort(failure('cancelled', 'cancelled'));
  await flight.begun;
  await passAlong(bridge, text, flight.session);
  flight.stop.abort(failure('cancelled', 'cancelled'));
}

async function takeAnswer(bridge: Bridge, { id, text }: Extract<Message, { kind: 'response' }>): Promise<void> {
  const flight = bridge.questions.get(id);
  if (flight === undefined) return bridge.note('the client answered a question that was not asked');
  bridge.questions.delete(id);
  flight.asked.delete(id);
  if (flight.onAnswer !== null) return flight.onAnswer(text);
  await passAlong(bridge, text, flight.session);
}

/** Nobody waits for an answer to these: what fails is told on standard error. */
async function passAlong(bridge: Bridge, text: string, given: Opened | null): Promise<void> {
  let opened = given;
  try {
    opened ??= await bridge.session.current();
    await post(bridge, text, opened);
  } catch (error) {
    forget(bridge, opened, error);
    if (!bridge.signal.aborted) bridge.note(`not passed on: ${problemOf(error).code}`);
  }
}

/** Gives what runs a little time, then ends it. */
async function settle(bridge: Bridge, running: ReadonlySet<Promise<void>>): Promise<void> {
  await within(Promise.all(running), graceMs, undefined, bridge.signal);
  for (const flight of bridge.flights.values()) flight.stop.abort(failure('cancelled', 'the input has ended'));
  await within(Promise.all(running), graceMs, undefined, bridge.signal);
}
