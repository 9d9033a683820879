import { type Caller, expectStatus } from './caller.js';

/** Creates a request for `SELECT 1` (or another text) and returns its id. */
export async function create(
  caller: Caller,
  environment: 'staging' | 'production',
  detail = 'SELECT 1',
  over: { no_result_store?: boolean } = {},
): Promise<string> {
  return (await expectStatus(201, caller.call('POST', '/api/requests', { database: 'shop', environment, detail, ...over }))).id;
}

/** Waits on the stream for the result of a request; throws unless the run succeeded. */
export async function awaitResult(caller: Caller, id: string) {
  const envelope = await expectStatus(200, caller.call('GET', `/api/requests/${id}/result/stream`));
  if (envelope.success !== true) throw new Error(`request ${id}: ${envelope.error_message}`);
  return envelope;
}

/** From submit until the caller has the result. */
export async function runSelect(caller: Caller): Promise<void> {
  await awaitResult(caller, await create(caller, 'staging'));
}
