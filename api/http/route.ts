import type { z } from 'zod';
import type { Config } from '../../config/types.js';
import type { Vouched } from '../../db/client.js';
import type { Actor } from '../../domain/audit/draft.js';
import type { Caller } from '../../domain/caller.js';
import type { ErrorCode } from '../../domain/errors.js';
import type { Permission } from '../../domain/permission-table.js';
import type { Authenticated, Sender } from '../../runtime/authentication.js';
import type { Meter } from '../../runtime/rate-limits/meter.js';
import type { Generation, Services } from '../context.js';
import type { Ahead, ReadAhead } from './ahead.js';
import type { Reply, SuccessStatus } from './reply.js';
import type { Tag } from './tags.js';

/**
 * Who may call. A permission, or one of several, admits any role that holds it; the handler checks what depends on the row. Permissions of class global are
 * checked in full here. `agent` means an agent token; every other value except `public` means a user credential.
 */
type Access = Permission | AnyOf | 'authenticated' | 'agent' | 'public';

interface AnyOf {
  anyOf: readonly Permission[];
  /** A flag of the query with which no permission is needed, because relations alone open what is then answered. */
  unless?: string;
}

/** The permissions that open a route, where any do. */
export function permissionsOf({ access }: Pick<Route, 'access'>): readonly Permission[] {
  if (access === 'public' || access === 'agent' || access === 'authenticated') return [];
  return typeof access === 'string' ? [access] : access.anyOf;
}

type Method = 'get' | 'post' | 'patch' | 'delete' | 'options';
export type LongPollKind = 'request' | 'result' | 'agent' | 'preflight' | 'mcp' | 'events';

/** One authenticated call with its parsed input. */
export interface Call<P, Q, B> extends Authenticated {
  params: P;
  query: Q;
  body: B;
  /** The body as received, except for `taken`, for values that JSON numbers cannot hold exactly (AG-50a). Empty without a body. */
  bodyBytes: Uint8Array;
  /** The names of the body's members as sent, known or not. */
  bodyKeys: readonly string[];
  /** UTF-8 text of the member named by `takeBytes`; null if it is not a string. */
  taken: Uint8Array | null;
  /** The value of `x-request-id`. */
  callId: string;
  generation: Generation;
  /** For the `take` of the route's `readsAhead`. */
  ahead: Ahead | null;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
  /** For the route's own limits, and where it checks a credential of its own. */
  sender: Sender & { meter: Pick<Meter, 'preflight' | 'credential'> };
  /** When the call came, as `performance.now()` says it. */
  startedAt: number;
  /** Authenticates a credential that the body carries as if the call had shown it (CO-10). Throws its refusals. */
  authenticate(credential: string): Promise<Authenticated>;
  /** Authenticates the same credential again after a long wait (HT-103). Throws its 401 or 403. */
  recheck(): Promise<Caller>;
  /** The same, with what `read` finds at the same time. */
  recheckBeside<T>(read: (db: Vouched) => Promise<T>): Promise<[Caller, T]>;
  /** For `longPoll`: metrics count the wait as waiting, not as work. What comes after the call's own time goes to `onLate`. */
  whileWaiting<T>(wait: () => Promise<T>, onLate?: (value: T) => void): Promise<T>;
  /** As `Given` has it. */
  isReasonElicited: boolean;
  /** What another route answers the same credential, authenticated again: its access, checks and schemas apply. Throws its refusals. */
  invoke(route: Route, given: Given): Promise<Reply>;
}

/** The input of a call that does not come as an HTTP request of its own. */
export interface Given {
  params?: Record<string, string>;
  query?: Record<string, string>;
  /** As it would be sent in JSON. */
  body?: Record<string, unknown>;
  /** The client's user was asked for the reason in it: a repeat of the same call has none (RQ-31). */
  isReasonElicited?: boolean;
  /** How the call came, for the audit log. */
  through: Pick<Actor, 'channel' | 'client'>;
  signal: AbortSignal;
}

type None = z.ZodType<undefined, undefined>;

export interface RouteDefinition<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  operationId: string;
  method: Method;
  /** Segments beginning with `:` are parameters. */
  path: `/${string}`;
  summary: string;
  /** What the document says besides the summary. */
  description?: string;
  tag: Tag;
  access: Access;
  /** For the document: the handler demands the permission in a role for all databases and environments, though its class does not. */
  everywhere?: true;
  /** For the document: what the handler demands besides, in a sentence. */
  accessRule?: string;
  /** Also admits agent tokens that `agents.require_scopes` refuses elsewhere, because work that has begun must be reported (HD-11). */
  evenUnscoped?: true;
  /** Not in the document: browsers go there, and no client calls it. */
  isPage?: true;
  /** Exempt from the address limit (OP-31). */
  unlimited?: true;
  /** While true, callers need no credential (HT-98). */
  openWhen?: (config: Config) => boolean;
  params?: P;
  /** Headers of every answer, also of a refusal. */
  headersFor?(services: Services, request: Sender['request']): Readonly<Record<string, string>>;
  /** Runs before anything of the body is read. Throws if the route is not there as the process is configured. */
  checkOn?(services: Services, request: Sender['request']): void;
  /** Values arrive as text: use the types of `query.ts`. */
  query?: Q;
  /** Documents the headers that the handler reads and checks itself. */
  documentedHeaders?: z.ZodType;
  body?: B;
  /** Documents the part of the body that the handler parses itself (IM-59). */
  documentedBody?: z.ZodType;
  /** Documents a body of form data. The handler finds it in `bodyBytes` and reads it by its own rules (HT-51). */
  form?: z.ZodType;
  /** A body of JSON that the handler finds in `bodyBytes` and reads by its own rules (HT-51); documented by this. */
  rawJson?: z.ZodType;
  /** Bytes; default 2 MiB (HT-50). */
  bodyLimit?: number | ((config: Config) => number);
  /** A missing or empty body counts as `{}` (HT-47). */
  bodyOptional?: boolean;
  /** A body member that may be too large for a string. `call.taken` holds it; `call.body` holds an empty string. */
  takeBytes?: string;
  /** What the handler reads first; it travels with the credential. */
  readsAhead?: ReadAhead;
  /** Allows U+0000 and unpaired surrogates (HT-45, AG-50a). */
  anyText?: boolean;
  /** Called with the declared or read size of an oversized body, before the 413 is sent (AG-47). */
  onTooLarge?(call: Omit<Call<z.output<P>, z.output<Q>, z.output<B>>, 'body'>, services: Services, bytes: number): Promise<void>;
  status: SuccessStatus;
  /** Other statuses that `reply`, `rawJson` and `noContent` may use. */
  alsoStatuses?: readonly SuccessStatus[];
  /** Others whose answer is empty, each with what it means. */
  alsoEmpty?: Partial<Record<SuccessStatus, string>>;
  response: R;
  /** What the document says that an answer may be; JSON if absent, without a body if empty. */
  mediaTypes?: readonly string[];
  /** For the document. */
  examples?: { body?: z.input<B>; answer?: z.input<R> };
  errors: readonly ErrorCode[];
  longPoll?: LongPollKind;
  /** A plain value is parsed by `response`, so nothing undeclared leaks. Return a `Reply` for anything else. */
  handle(call: Call<z.output<P>, z.output<Q>, z.output<B>>, services: Services): Promise<z.input<R> | Reply> | z.input<R> | Reply;
}

/** Each definition types its own call, so the list of routes can drop those types. */
export type Route = RouteDefinition<z.ZodType, z.ZodType, z.ZodType, z.ZodType>;

/** Infers the call's types from the schemas. */
export function route<R extends z.ZodType, P extends z.ZodType = None, Q extends z.ZodType = None, B extends z.ZodType = None>(
  definition: RouteDefinition<P, Q, B, R>,
): Route {
  return definition;
}
