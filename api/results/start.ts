import { z } from 'zod';
import { findState } from '../../db/request-state.js';
import { GatewayError } from '../../domain/errors.js';
import { answeringExecution } from '../../domain/request/answering.js';
import { memberText } from '../../lib/json/member.js';
import type { Services } from '../context.js';
import { type Call, route } from '../http/route.js';
import { findContent } from './read.js';
import { relayed } from './relayed.js';
import { storedStart } from './stored-text.js';

/** Longer results are cut (MC-45). */
const startBytes = 1024 * 1024;

export const startSchema = z.object({
  rows_affected: z.number().nullable(),
  truncated: z.boolean().nullable(),
  result_text: z.string().nullable(),
  result_truncated: z.boolean(),
  error_message: z.string().nullable(),
});
export type ResultStart = z.output<typeof startSchema>;

type StartCall = Pick<Call<{ id: string }, undefined, undefined>, 'caller' | 'generation' | 'params'>;

/** What `GET …/result/content` answers, as text that may be cut. It has no address of its own: the tools of MCP ask it. */
export const readResultStart = route({
  operationId: 'readResultStart',
  method: 'get',
  path: '/',
  summary: 'Read the start of the latest result',
  tag: 'results',
  access: 'result.view',
  params: z.object({ id: z.string() }),
  status: 200,
  response: startSchema,
  errors: [],
  handle: resultStart,
});

async function resultStart(call: StartCall, services: Services): Promise<ResultStart> {
  try {
    const { head, data } = await findContent({ ...call, query: {} }, services);
    const cut = data === null ? none : cutText(await storedStart(services, data, startBytes), data.content_length ?? 0);
    const rows = head.rowsAffected === null ? null : Number(head.rowsAffected);
    return { rows_affected: rows, truncated: head.truncated, ...cut, error_message: head.errorMessage };
  } catch (error) {
    if (!(error instanceof GatewayError) || !['result.not_found', 'result.gone'].includes(error.code)) throw error;
    return unstored(services, call.params.id, error);
  }
}

const none = { result_text: null, result_truncated: false };

/** The last character is left out if it was cut. */
const cutText = (bytes: Uint8Array, length: number) => ({
  result_text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: bytes.length < length }),
  result_truncated: bytes.length < length,
});

/** A result that is not stored may still be in the relay (RS-45). The refusal has shown that this caller may read results. */
async function unstored({ database }: Services, id: string, refused: GatewayError): Promise<ResultStart> {
  const request = (await findState(database, id))?.request;
  const answering = request === undefined ? null : answeringExecution(request);
  const held = answering === null ? null : await relayed(database, answering.id);
  const missing = refused.code === 'result.gone' ? refused.message : null;
  const nothing = { rows_affected: null, truncated: null, ...none, error_message: request?.failureReason ?? missing };
  if (held === null) return nothing;
  if (!(held instanceof Uint8Array)) return { ...nothing, result_truncated: true };
  const envelope = JSON.parse(new TextDecoder().decode(held)) as Record<string, unknown>;
  const text = envelope.result_data === null ? null : memberText(held, 'result_data');
  const cut = text === null ? none : cutText(Buffer.from(text).subarray(0, startBytes), Buffer.byteLength(text));
  const known = startSchema.pick({ rows_affected: true, truncated: true }).parse(envelope);
  return { ...nothing, ...known, ...cut, error_message: (envelope.error_message as string | null) ?? null };
}
