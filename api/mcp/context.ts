import type { McpSession } from '../../db/mcp-sessions.js';
import type { Services } from '../context.js';
import type { Call, Route } from '../http/route.js';
import type { ProtocolVersion } from './headers.js';

export type HttpCall = Call<undefined, undefined, undefined>;

/** What every method of MCP works with. */
export interface McpContext {
  call: HttpCall;
  services: Services;
  /** The routes that tools stand for. */
  routes: () => readonly Route[];
  version: ProtocolVersion;
  session: McpSession | null;
  /** Aborts when nobody waits for the answer any more: the client has gone, the call was cancelled, or its session has ended. */
  signal: AbortSignal;
  /** Tells the client how a wait goes on; nothing where it cannot be told. */
  progress(message: string): Promise<void>;
  /** Asks the client's user for a reason (MC-30). Null: it cannot be asked; false: there is none. */
  askReason(): Promise<string | false | null>;
}
