import type { IncomingMessage } from 'node:http';
import { clientName } from '../../domain/client-name.js';
import { invalid } from '../../domain/errors.js';
import type { Authenticated } from '../../runtime/authentication.js';

const channelHeader = 'x-svc-channel';
const clientHeader = 'x-svc-client';

/**
 * The caller, with the channel that the call says it came through (AU-20, MC-50): a program that asks for a model sends `X-Svc-Channel: mcp`, and in
 * `X-Svc-Client` the model's client. Nothing proves it, and nothing has to: the channel only takes ways away from a request. Any other value is
 * `validation.failed`.
 */
export function withDeclaredChannel(who: Authenticated, { headers }: Pick<IncomingMessage, 'headers'>): Authenticated {
  const channel = headers[channelHeader];
  if (channel === undefined) return who;
  if (channel !== 'mcp') throw invalid(`${channelHeader} must be mcp`, `header.${channelHeader}`);
  const client = headers[clientHeader];
  return { ...who, actor: { ...who.actor, channel, ...(typeof client === 'string' ? { client: readClient(client) } : {}) } };
}

/** Name and version, each percent-encoded, with a blank between them. */
function readClient(text: string): string {
  try {
    const [name = '', version = ''] = text.split(' ').map(decodeURIComponent);
    return clientName(name, version);
  } catch {
    throw invalid(`${clientHeader} has a bad percent escape`, `header.${clientHeader}`);
  }
}
