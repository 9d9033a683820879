import type { FetchFunction, Logger, LogLevel } from '@slack/web-api';
import type { Config } from '../config/types.js';
import { readBounded } from './read-bounded.js';

/** The methods of Slack's Web API that the gateway uses (SL-3). */
export type SlackMethod =
  | 'chat.postMessage'
  | 'chat.update'
  | 'chat.postEphemeral'
  | 'views.open'
  | 'views.update'
  | 'conversations.join'
  | 'users.lookupByEmail';

/**
 * `error` is Slack's own name of it, or `timeout`, `network_error`, or `status_503` and the like. It never holds the token or text that was sent.
 * `retryAfterSecs` is what Slack asks for, null if it asks for nothing.
 */
export type SlackAnswer =
  | { ok: true; body: Readonly<Record<string, unknown>> }
  | { ok: false; error: string; retryAfterSecs: number | null };

export interface SlackClient {
  /** Makes one call, once. Never rejects. It takes at most 10 s, or `timeoutMs` if that is less. */
  call(method: SlackMethod, args: Readonly<Record<string, unknown>>, timeoutMs?: number): Promise<SlackAnswer>;
}

type SlackConfig = Config['slack'];

const callMs = 10_000;

/** SL-1: both secrets are there. */
export const slackIsOn = ({ botToken, signingSecret }: Pick<SlackConfig, 'botToken' | 'signingSecret'>): boolean =>
  botToken.trim() !== '' && signingSecret.trim() !== '';

/** Calls Slack with the configuration of the moment. Callers decide about retries: nothing is tried twice here. */
export function createSlackClient(slack: () => Pick<SlackConfig, 'botToken' | 'apiBaseUrl'>): SlackClient {
  return {
    async call(method, args, timeoutMs = callMs) {
      // Loaded with the first call: it takes 35 ms and 10 MB that a gateway without Slack does not need.
      const library = await import('@slack/web-api');
      const { botToken, apiBaseUrl } = slack();
      const client = new library.WebClient(botToken, {
        slackApiUrl: apiBaseUrl,
        allowAbsoluteUrls: false,
        timeout: Math.min(timeoutMs, callMs),
        retryConfig: { retries: 0 },
        rejectRateLimitedCalls: true,
        logger: silent,
        fetch: fetchWith(method, args),
      });
      try {
        return { ok: true, body: { ...(await client.apiCall(method, { ...args })) } };
      } catch (error) {
        return failureOf(error, library);
      }
    },
  };
}

/** The library sends forms, where a text cannot be told apart from a JSON list. Slack takes JSON too (SL-3). */
function fetchWith(method: SlackMethod, args: Readonly<Record<string, unknown>>): FetchFunction {
  return async (url, { headers = {}, signal } = {}) => {
    const { 'Content-Type': _, ...own } = headers;
    const rest = { redirect: 'error' as const, signal: signal ?? null };
    const answer =
      method === 'users.lookupByEmail'
        ? await fetch(`${url}?${new URLSearchParams({ email: String(args.email) })}`, { headers: own, ...rest })
        : await fetch(url, {
            method: 'POST',
            headers: { ...own, 'content-type': 'application/json; charset=utf-8' },
            body: JSON.stringify(args),
            ...rest,
          });
    return readWhole(answer);
  };
}

/** The answer with its whole body. The library takes an answer of status 429 for broken unless it says how long to wait. */
async function readWhole(answer: Response): Promise<Response> {
  const body = await readBounded(answer);
  const { status } = answer;
  const headers = new Headers(answer.headers);
  if (status === 429 && !/^\d+$/.test(headers.get('retry-after') ?? '')) headers.set('retry-after', '1');
  return new Response(bodiless.has(status) ? null : body, { status, headers });
}

const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

function failureOf(error: unknown, library: typeof import('@slack/web-api')): SlackAnswer & { ok: false } {
  if (error instanceof library.WebAPIRateLimitedError) return failed('ratelimited', error.retryAfter);
  if (error instanceof library.WebAPIPlatformError)
    // If something else answered in Slack's place, this is its whole answer.
    return failed(/^[a-z0-9_]{1,64}$/.exec(error.data.error ?? '')?.[0] ?? 'invalid_answer');
  if (error instanceof library.WebAPIHTTPError) return failed(`status_${error.statusCode}`);
  const isLate = error instanceof library.WebAPIRequestError && error.original.name === 'TimeoutError';
  return failed(isLate ? 'timeout' : 'network_error');
}

const failed = (error: string, retryAfterSecs: number | null = null) => ({ ok: false as const, error, retryAfterSecs });

const nothing = () => undefined;
/** The library would log the texts that are sent. */
const silent: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  setLevel: nothing,
  getLevel: () => 'error' as LogLevel,
  setName: nothing,
};
