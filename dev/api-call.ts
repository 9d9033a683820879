const callWaitMs = 15_000;

export interface Answer {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

/** Where a call goes, and by whose token. */
export interface Api {
  server: string;
  token: string;
}

/** One call of the gateway's HTTP API; returns every status, throws when there is no answer. */
export async function callApi(
  { server, token }: Api,
  method: 'GET' | 'POST',
  path: string,
  body?: Record<string, unknown>,
): Promise<Answer> {
  const response = await fetch(server + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(callWaitMs),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown>, headers: response.headers };
}

export function unexpected(what: string, answer: Answer): Error {
  return new Error(`${what}: the gateway answers ${answer.status} ${JSON.stringify(answer.body)}`);
}
