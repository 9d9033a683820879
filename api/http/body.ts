import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { invalid, refusal } from '../../domain/errors.js';
import { isNestedDeeper } from '../../lib/json/depth.js';
import { takeString } from '../../lib/json/member.js';
import { isRecord } from '../../lib/record.js';
import { mayHoldBadText, refuseBadText } from './bad-text.js';

/** How deep a JSON text may nest (HT-43). */
export const maxDepth = 64;
/** Of a route that does not say otherwise (HT-50). */
export const maxBodyBytes = 2 * 1024 * 1024;

export interface JsonBody {
  /** A JSON object; `{}` when an optional body is absent (HT-47). */
  value: Record<string, unknown>;
  /** As received, except for `taken`. Read values that must not lose digits from here. */
  bytes: Uint8Array;
  /** UTF-8 text of the member named by `take`; `value` holds `''` in its place. Null if the member is not a string. */
  taken: Uint8Array | null;
}

interface BodyOptions {
  limitBytes: number;
  optional: boolean;
  /** What is read of the body, and so must hold no bad text (HT-45). Null allows any text. */
  checked: z.ZodType | null;
  /** A string member to be taken as bytes. */
  take: string | null;
}

/** Reads a JSON object (HT-40 to HT-49). Refuses with 415, 413 or 400. */
export async function readJsonBody(request: IncomingMessage, options: BodyOptions): Promise<JsonBody> {
  const bytes = await readBytes(request, options.limitBytes, isJsonType, 'application/json');
  if (bytes.length === 0) {
    if (options.optional) return { value: {}, bytes, taken: null };
    throw invalid('a JSON body is required', 'body');
  }
  return parseJsonObject(bytes, options);
}

const formType = 'application/x-www-form-urlencoded';
const isFormType = (header: string) => isUtf8Type(header, (type) => type === formType);

/** The bytes of form data, which its reader parses (HT-51). Refuses with 415 or 413. */
export const readFormBytes = (request: IncomingMessage, limitBytes: number): Promise<Uint8Array> =>
  readBytes(request, limitBytes, isFormType, formType);

/** The bytes of JSON, which its reader parses (HT-51). Unlike elsewhere the media type counts also without a body. Refuses with 415 or 413. */
export async function readRawJsonBytes(request: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
  const media = mediaProblem(request, isJsonType, 'application/json');
  if (media !== null) throw media;
  return readBytes(request, limitBytes, isJsonType, 'application/json');
}

async function readBytes(
  request: IncomingMessage,
  limitBytes: number,
  isRightType: (header: string) => boolean,
  rightType: string,
): Promise<Uint8Array> {
  const declared = Number(request.headers['content-length'] ?? 0);
  const chunked = request.headers['transfer-encoding'] !== undefined;
  if (declared === 0 && !chunked) return new Uint8Array();
  const media = mediaProblem(request, isRightType, rightType);
  if (media !== null && !chunked) throw media;
  if (declared > limitBytes) throw tooLarge(limitBytes);
  // A chunked body of the wrong type is read only to see whether it is empty: zero bytes count as no body.
  if (chunked) return collectChunked(request, media === null ? limitBytes : 0, () => media ?? tooLarge(limitBytes));
  return collectDeclared(request, declared);
}

function mediaProblem(request: IncomingMessage, isRightType: (header: string) => boolean, rightType: string): Error | null {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    return refusal('validation.unsupported_media_type', 'content encoding must be identity', 'header.content-encoding');
  if (isRightType(request.headers['content-type'] ?? '')) return null;
  return refusal('validation.unsupported_media_type', `content type must be ${rightType}`, 'header.content-type');
}

const isJsonType = (header: string) =>
  header === 'application/json' || isUtf8Type(header, (type) => /^application\/([^\s/;]+\+)?json$/.test(type));

/** Whether the media type is right and any charset is UTF-8. */
function isUtf8Type(header: string, isRight: (type: string) => boolean): boolean {
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  if (!isRight(type.trim())) return false;
  return parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim() !== 'charset' || value.trim().replace(/^"(.*)"$/, '$1') === 'utf-8';
  });
}

const tooLarge = (limitBytes: number) => refusal('payload.too_large', `the body has more than ${limitBytes} bytes`);

/** Reads into one buffer of the declared length; Node enforces the length. */
async function collectDeclared(request: IncomingMessage, declared: number): Promise<Uint8Array> {
  const body = new Uint8Array(declared);
  let length = 0;
  const take = (chunk: Uint8Array) => {
    body.set(chunk, length);
    length += chunk.length;
  };
  await collect(request, take);
  return body;
}

/** Keeps no chunk: the client chooses their size, and one of a byte takes hundreds in memory. */
async function collectChunked(request: IncomingMessage, limitBytes: number, over: () => Error): Promise<Uint8Array> {
  let body = new Uint8Array(0);
  let length = 0;
  await collect(request, (chunk) => {
    const end = length + chunk.length;
    if (end > limitBytes) throw over();
    if (end > body.length) body = grown(body, Math.max(end, Math.min(2 * length, limitBytes)));
    body.set(chunk, length);
    length = end;
  });
  return body.subarray(0, length);
}

function grown(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length);
  larger.set(bytes);
  return larger;
}

/** Passes each chunk to `take`. If `take` throws, the body is refused. */
function collect(request: IncomingMessage, take: (chunk: Uint8Array) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (act: () => void) => {
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      act();
    };
    const onData = (chunk: Uint8Array) => {
      try {
        take(chunk);
      } catch (refused) {
        // Drains the rest: otherwise the client could not read the answer while it is still sending.
        stop(() => reject(request.resume() && refused));
      }
    };
    const onEnd = () => stop(resolve);
    const onBroken = () => stop(() => reject(invalid('the body ended early', 'body')));
    if (request.destroyed) return onBroken();
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  });
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

function parseJsonObject(bytes: Uint8Array, { checked, take }: BodyOptions): JsonBody {
  if (!isUtf8(bytes)) throw invalid('the body is not valid UTF-8', 'body');
  // Checked before parsing: a few MiB of brackets would block the event loop (HD-90).
  if (isNestedDeeper(bytes, maxDepth)) throw invalid(`the body is nested deeper than ${maxDepth}`, 'body');
  const { rest, taken } = take === null ? { rest: bytes, taken: null } : takeString(bytes, take);
  const text = utf8.decode(rest);
  if (text.charCodeAt(0) === 0xfeff) throw invalid('the body begins with a byte order mark', 'body');
  const value = parseJson(text);
  if (!isRecord(value)) throw invalid('body must be an object', 'body');
  if (checked !== null && mayHoldBadText(text)) refuseBadText(checked, value);
  return { value, bytes: rest, taken };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('the body is not valid JSON', 'body');
  }
}
