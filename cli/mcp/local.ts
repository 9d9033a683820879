import { errorText, resultText, rpcCodes } from '../../domain/json-rpc.js';
import { BadArgument, readArguments } from '../../domain/mcp-arguments.js';
import { type JsonText, tryJson } from '../../lib/json/read.js';
import { arrayText, objectText } from '../../lib/json/write.js';
import type { Client } from '../client.js';
import type { Context } from '../context.js';
import { CommandFailure } from '../failure.js';
import { answerFailure, type Bridge, problemOf } from './bridge.js';
import type { Flight } from './flight.js';
import type { Shape } from './forward.js';
import type { RequestMessage } from './message.js';
import { localPrompts, promptEntry, promptResult } from './prompts.js';
import { askReason } from './question.js';
import { type LocalTool, localTools } from './tools.js';

/** What this machine answers itself (MC-50, MC-51), or null. The work never rejects. */
export function localWork(bridge: Bridge, message: RequestMessage, flight: Flight): (() => Promise<void>) | null {
  const name = message.params?.get('name')?.string();
  const tool = message.method === 'tools/call' ? localTools.find((one) => one.name === name) : undefined;
  const prompt = message.method === 'prompts/get' ? localPrompts.find((one) => one.name === name) : undefined;
  if (tool === undefined && prompt === undefined) return null;
  return async () => {
    try {
      const args = argumentsOf(message);
      const result =
        tool !== undefined
          ? await callTool(bridge, flight, tool, args)
          : await promptResult(contextOf(bridge, flight, name ?? '', {}), prompt!, args);
      if (!flight.isCancelled) await bridge.writer.send(resultText(flight.id, result));
    } catch (error) {
      if (!(error instanceof BadArgument)) return answerFailure(bridge, flight, error);
      const problem = { rpcCode: rpcCodes.badParams, message: error.message, code: 'validation.failed', hint: error.place };
      if (!flight.isCancelled) await bridge.writer.send(errorText(flight.id, problem));
    }
  };
}

function argumentsOf({ params }: RequestMessage): Record<string, unknown> {
  const given = params?.get('arguments');
  if (given === undefined) return {};
  if (given.kind !== 'object') throw new BadArgument('arguments must be an object', 'params.arguments');
  return JSON.parse(given.text) as Record<string, unknown>;
}

/** A refusal or failure is a result too (MC-42). */
async function callTool(bridge: Bridge, flight: Flight, tool: LocalTool, given: Record<string, unknown>): Promise<object> {
  const args = readArguments(tool.inputSchema, given);
  const work = { context: contextOf(bridge, flight, tool.name, args), askReason: () => askReason(bridge, flight) };
  try {
    const { structured, sentence } = await tool.run(work, args);
    const texts = [...(sentence === undefined ? [] : [sentence]), JSON.stringify(structured)];
    const content = texts.map((text) => ({ type: 'text', text }));
    return { content, ...(isOld(bridge) ? {} : { structuredContent: structured }), isError: false };
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const { code, message, hint } = problemOf(error);
    const text = `${code}: ${message}${hint === null ? '' : `\n${hint}`}`;
    return { content: [{ type: 'text', text }], isError: true };
  }
}

function contextOf({ context, session }: Bridge, flight: Flight, what: string, args: Record<string, unknown>): Context {
  const named = Object.entries(args).filter(([key]) => key === 'database' || key === 'environment');
  const options = { ...context.options, ...Object.fromEntries(named) };
  const output = { ...context.output, mode: 'quiet' as const, note: () => {} };
  return { ...context, options, output, what, signal: flight.stop.signal, client: () => forModel(context.client(), session) };
}

/** Its calls say that a model asked, and through which client, as those to `/mcp` do (MC-44). */
function forModel(client: Client, { askedBy }: Bridge['session']): Client {
  const headers = { 'x-svc-channel': 'mcp', ...(askedBy === null ? {} : { 'x-svc-client': askedBy }) };
  return { ...client, call: (call) => client.call({ ...call, headers: { ...call.headers, ...headers } }) };
}

/** Sessions of older versions have no structures (MC-41). */
const isOld = ({ session }: Bridge): boolean => session.version !== null && session.version < '2025-06-18';

/** How the server's answer changes: its lists get what this machine has. Every other answer goes on as it came. */
export function shapeOf(bridge: Bridge, { method }: RequestMessage): Shape | null {
  if (method === 'tools/list') {
    const entries = () =>
      localTools.map(({ run: _, outputSchema, ...tool }) => ({ ...tool, ...(isOld(bridge) ? {} : { outputSchema }) }));
    return (answer) => extended(answer, 'tools', entries());
  }
  return method === 'prompts/list' ? (answer) => extended(answer, 'prompts', localPrompts.map(promptEntry)) : null;
}

/** Puts entries at the end of a list of a result, and leaves all else as it stands. Only the last page gets them. */
function extended(answer: string, key: string, entries: readonly object[]): string {
  const json = tryJson(answer);
  const result = json?.get('result');
  const list = result?.get(key);
  if (!json || !result || list?.kind !== 'array' || result.get('nextCursor')?.kind === 'string') return answer;
  const texts = [...list.items().map((item) => item.text), ...entries.map((entry) => JSON.stringify(entry))];
  return withMember(json, 'result', withMember(result, key, arrayText(texts)));
}

const withMember = (object: JsonText, key: string, text: string): string =>
  objectText({}, { ...Object.fromEntries(object.entries().map(([name, value]) => [name, value.text])), [key]: text });
