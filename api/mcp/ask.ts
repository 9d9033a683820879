import { text as allOf } from 'node:stream/consumers';
import type { z } from 'zod';
import type { Reply } from '../http/reply.js';
import type { Given, Route } from '../http/route.js';
import type { McpContext } from './context.js';

export type Asked = Omit<Given, 'through' | 'signal'>;

/** How a call came, for the audit log (MC-44). */
const through = ({ session }: Pick<McpContext, 'session'>): Given['through'] => ({
  channel: 'mcp',
  ...(session === null ? {} : { client: session.client }),
});

/**
 * What an operation of the API answers the same credential. Tools decide nothing themselves, so they show and do only what the API would (MC-I5); it
 * throws the API's refusals.
 */
export async function ask<S extends z.ZodType>(
  context: McpContext,
  operation: string | Route,
  asked: Asked,
  schema: S,
): Promise<z.output<S>> {
  const route = typeof operation === 'string' ? context.routes().find((one) => one.operationId === operation) : operation;
  if (route === undefined) throw new Error(`no operation ${String(operation)}`);
  const reply = await context.call.invoke(route, { ...asked, through: through(context), signal: context.signal });
  return schema.parse(JSON.parse(await textOf(reply)));
}

async function textOf({ body }: Reply): Promise<string> {
  if (body.kind !== 'json') throw new Error(`an answer of kind ${body.kind} cannot be read here`);
  const parts: string[] = [];
  for (const chunk of body.chunks) {
    if (typeof chunk === 'string') parts.push(chunk);
    else parts.push(chunk instanceof Uint8Array ? new TextDecoder().decode(chunk) : await allOf(chunk.read()));
  }
  return parts.join('');
}
