import type { IncomingMessage } from 'node:http';
import { invalid } from '../../domain/errors.js';
import type { Authenticated } from '../../runtime/authentication.js';

const header = 'x-svc-channel';

/**
 * The caller, with the channel that the call says it came through (AU-20, MC-50): a program that asks for a model sends `X-Svc-Channel: mcp`. Nothing proves
 * it, and nothing has to: the channel only takes ways away from a request. Any other value is `validation.failed`.
 */
export function withDeclaredChannel(who: Authenticated, { headers }: Pick<IncomingMessage, 'headers'>): Authenticated {
  const channel = headers[header];
  if (channel === undefined) return who;
  if (channel !== 'mcp') throw invalid(`${header} must be mcp`, `header.${header}`);
  return { ...who, actor: { ...who.actor, channel } };
}
