import { type JsonText, tryJson } from '../../lib/json/read.js';

/**
 * A message of the client. `text` is what was received and goes on unchanged (CL-I8). An id is JSON text as the server writes it, so `1` and `"1"`
 * differ. `other`: batches and what is no message; the server says what is wrong with it. `ids` are those of its requests.
 */
export type Message =
  | RequestMessage
  | { kind: 'notification'; text: string; method: string; params: JsonText | undefined }
  | { kind: 'response'; text: string; id: string; json: JsonText }
  | { kind: 'other'; text: string; ids: string[] };

export interface RequestMessage {
  kind: 'request';
  text: string;
  id: string;
  method: string;
  params: JsonText | undefined;
}

/** Null if the text is no JSON. */
export function readMessage(text: string): Message | null {
  const json = tryJson(text);
  if (json === null) return null;
  if (json.kind === 'array') return { kind: 'other', text, ids: json.items().flatMap((item) => requestId(item) ?? []) };
  const members = new Map(json.entries());
  const method = members.get('method')?.string() ?? null;
  const id = idOf(members.get('id'));
  if (method === null && id !== null && !members.has('method')) return { kind: 'response', text, id, json };
  if (method === null || (members.has('id') && id === null)) return { kind: 'other', text, ids: id === null ? [] : [id] };
  const params = members.get('params');
  return id === null ? { kind: 'notification', text, method, params } : { kind: 'request', text, id, method, params };
}

/** The id as JSON text; null if it is none. */
export function idOf(id: JsonText | undefined): string | null {
  if (id === undefined || (id.kind !== 'string' && id.kind !== 'number')) return null;
  const value = JSON.parse(id.text) as unknown;
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY ? null : JSON.stringify(value);
}

const requestId = (item: JsonText): string | null => (item.get('method') === undefined ? null : idOf(item.get('id')));
