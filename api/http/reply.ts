import { errorHeaders } from '../../runtime/http-errors.js';

/** Part of an answer that is read while it is sent; `bytes` is its length. */
export interface StreamedChunk {
  bytes: number;
  read: () => AsyncIterable<Uint8Array>;
}

export type JsonChunk = string | Uint8Array | StreamedChunk;

type ReplyBody =
  | { kind: 'value'; value: unknown }
  | { kind: 'json'; chunks: readonly JsonChunk[] }
  | { kind: 'text'; contentType: string; text: string | Uint8Array; isImmutable?: true }
  | { kind: 'stream'; contentType: string; parts: AsyncIterable<string | Uint8Array> }
  | { kind: 'empty' };

/** A header that is sent several times has a list. */
type Headers = Readonly<Record<string, string | string[]>>;

/** An answer other than "the declared status with this value". */
export class Reply {
  readonly status: number;
  readonly body: ReplyBody;
  readonly headers: Headers;

  constructor(status: number, body: ReplyBody, headers: Headers = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** A value, parsed by the route's `response`, with another declared status. */
export const reply = (status: SuccessStatus, value: unknown) => new Reply(status, { kind: 'value', value });

/** JSON text passed through as stored, neither parsed nor reprinted (C6). Chunks are sent in order. */
export const rawJson = (chunks: readonly JsonChunk[]) => new Reply(200, { kind: 'json', chunks });

/** An answer without body or `Content-Type`, whose headers say it all. */
export const empty = (status: SuccessStatus, headers: Headers = {}) => new Reply(status, { kind: 'empty' }, headers);

/** 204 without body or `Content-Type` (HT-30). */
export const noContent = () => empty(204);

/** For anything that is not JSON: metrics, pages, exports. */
export const text = (contentType: string, body: string | Uint8Array) => new Reply(200, { kind: 'text', contentType, text: body });

/** An answer that is made while it is sent, as fast as the caller takes it. If making it fails, the connection breaks. */
export const stream = (
  contentType: string,
  parts: AsyncIterable<string | Uint8Array>,
  headers: Readonly<Record<string, string>> = {},
) => new Reply(200, { kind: 'stream', contentType, parts }, headers);

/** Bytes that never change under this address, so that a client may keep them. */
export const immutable = (contentType: string, body: Uint8Array) =>
  new Reply(200, { kind: 'text', contentType, text: body, isImmutable: true });

/** JSON of an operational endpoint whose status may report a failure, such as 503 of `/ready` (HT-90). */
export const probe = (status: 200 | 503, value: unknown) => new Reply(status, { kind: 'value', value }, errorHeaders(status));

export type SuccessStatus = 200 | 201 | 202 | 204 | 302;
