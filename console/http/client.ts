import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from '../../dist/api-types.d.ts';
import { compareClocks, isAway, signedOut } from './reach.js';
import { Refused, refusedBy, Unreachable } from './refused.js';

export type Schema = components['schemas'];

const waitMs = 30_000;

/** Every call goes through here: it has a deadline, and its outcome says whether the server is there and the session holds. */
export async function send(url: string, options: RequestInit = {}): Promise<Response> {
  return reached(new Request(new URL(url, location.origin), options));
}

async function reached(request: Request): Promise<Response> {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(waitMs)]);
  try {
    const response = await fetch(request, { signal });
    compareClocks(response.headers.get('date'));
    isAway.value = [502, 504].includes(response.status);
    if (response.status === 401) signedOut();
    return response;
  } catch (error) {
    if (request.signal.aborted) throw error;
    isAway.value = true;
    throw new Unreachable();
  }
}

const refusals: Middleware = {
  async onResponse({ response }) {
    if (!response.ok) throw await refusal(response);
  },
};

export async function refusal(response: Response): Promise<Refused> {
  return refusedBy(response.status, await response.json().catch(() => null), response.headers.get('retry-after'));
}

/** The calls of `docs/openapi.json`, typed by it. A refused one throws `Refused`. */
export const api = createClient<paths>({ baseUrl: location.origin, fetch: reached });
api.use(refusals);

/** What a call answered. A refused one has thrown. */
export async function answer<Data>(call: Promise<{ data?: Data; response: Response }>): Promise<Data> {
  const { data, response } = await call;
  if (data === undefined) throw new Refused(response.status, {});
  return data;
}

/** A call that the document does not name yet, with a body of JSON. Answers null where there is no content. */
export async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await send(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  if (!response.ok) throw await refusal(response);
  return response.status === 204 ? null : response.json();
}
