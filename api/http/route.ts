import type { z } from 'zod';
import type { Config } from '../../config/types.js';
import type { Actor } from '../../domain/audit.js';
import type { Caller } from '../../domain/caller.js';
import type { ErrorCode } from '../../domain/errors.js';
import type { Permission } from '../../domain/permission-table.js';
import type { Meter } from '../../runtime/rate-limits/meter.js';
import type { Generation, Services } from '../context.js';
import type { Reply, SuccessStatus } from './reply.js';

/**
 * Who may call. A permission opens the call to any role that holds it (what depends on a row is for the handler to check); a permission of
 * class global is checked in full here. `agent` is an agent token, every other value but `public` a user credential.
 */
type Access = Permission | 'authenticated' | 'agent' | 'public';

type Method = 'get' | 'post' | 'patch' | 'delete';
export type LongPollKind = 'request' | 'result' | 'agent' | 'preflight';
type Tag = 'requests' | 'results' | 'identity' | 'tokens' | 'configuration' | 'audit' | 'agents' | 'operations' | 'schemas';

/** One authenticated call with its parsed input. */
export interface Call<P, Q, B> {
  caller: Caller;
  actor: Actor;
  params: P;
  query: Q;
  body: B;
  /** The body as received, but for `taken`, for values that JSON numbers cannot hold exactly (AG-50a); none without a body. */
  bodyBytes: Uint8Array;
  /** The text of the member that the route takes as bytes, in UTF-8; null when it is no string. */
  taken: Uint8Array | null;
  /** The value of `x-request-id`. */
  callId: string;
  generation: Generation;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
  /** For limits of the route's own. */
  meter: Pick<Meter, 'preflight'>;
  /** Authenticates the same credential again after a long wait (HT-103); throws its 401 or 403. */
  recheck(): Promise<Caller>;
  /** For `longPoll`: runs a wait that is counted as waiting, not as work, in the metrics. */
  whileWaiting<T>(wait: () => Promise<T>): Promise<T>;
}

type None = z.ZodType<undefined, undefined>;

export interface RouteDefinition<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  operationId: string;
  method: Method;
  /** Segments beginning with `:` are parameters. */
  path: `/${string}`;
  summary: string;
  tag: Tag;
  access: Access;
  /** Open to agent tokens that `agents.require_scopes` refuses elsewhere: what has begun must be told (HD-11). */
  evenUnscoped?: true;
  /** Not counted by address (OP-31). */
  unlimited?: true;
  /** Opens the route to callers without credential while it answers true (HT-98). */
  openWhen?: (config: Config) => boolean;
  params?: P;
  /** Every value arrives as text: use the types of `query.ts`. */
  query?: Q;
  body?: B;
  /** What the document says of the body where the handler itself parses the rest of it (IM-59). */
  documentedBody?: z.ZodType;
  /** Bytes; 2 MiB if absent (HT-50). */
  bodyLimit?: number | ((config: Config) => number);
  /** No body, or one of zero bytes, counts as `{}` (HT-47). */
  bodyOptional?: boolean;
  /** A member of the body that may be so large that it is never made a string: `call.taken` has it, `call.body` an empty string. */
  takeBytes?: string;
  /** Lets U+0000 and unpaired surrogates through (HT-45, AG-50a). */
  anyText?: boolean;
  /** Told of a body above the limit, by its declared or read bytes, before the 413 is answered (AG-47). */
  onTooLarge?(call: Omit<Call<z.output<P>, z.output<Q>, z.output<B>>, 'body'>, services: Services, bytes: number): Promise<void>;
  status: SuccessStatus;
  /** Further statuses that `reply`, `rawJson` and `noContent` may answer with. */
  alsoStatuses?: readonly SuccessStatus[];
  response: R;
  errors: readonly ErrorCode[];
  longPoll?: LongPollKind;
  /** A value is parsed by `response`, so that nothing undeclared leaks; a `Reply` says more. */
  handle(call: Call<z.output<P>, z.output<Q>, z.output<B>>, services: Services): Promise<z.input<R> | Reply> | z.input<R> | Reply;
}

/** The parts of a call are matched by the definition's own schemas, so the list of all routes may forget their types. */
export type Route = RouteDefinition<z.ZodType, z.ZodType, z.ZodType, z.ZodType>;

/** Declares a route; its types follow from its schemas. */
export function route<R extends z.ZodType, P extends z.ZodType = None, Q extends z.ZodType = None, B extends z.ZodType = None>(
  definition: RouteDefinition<P, Q, B, R>,
): Route {
  return definition;
}
