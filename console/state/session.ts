import { computed, effect, signal } from '@preact/signals';
import { call } from '../http/client.js';
import { endedSessions } from '../http/reach.js';
import { Refused } from '../http/refused.js';

/** What `GET /api/console/session` answers (CO-12). */
export interface Session {
  subject_id: string;
  display_name: string | null;
  roles: string[];
  permissions: string[];
  version: string;
}

/** `undefined` until it is known, null when nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined);

/** The user who is signed in; stays the same while what they may do changes. */
const who = computed(() => session.value?.subject_id ?? null);

/** Changes with what they may do, as far as the session tells it. */
export const rights = computed(() => JSON.stringify([session.value?.roles, session.value?.permissions]));

/** Why the page asks for a token again, if it had a session. */
export const endedWhy = signal<string | null>(null);

const path = '/api/console/session';

/** Who was signed in before a link or another tab signed in somebody else: anybody can send a link of their own. */
export const replaced = signal<string | null>(null);

/** The one-time code of the address, until the server has said yes or no to it. */
let code: string | null = null;
/** Who was signed in when the page came with it. */
let before: string | null = null;

/** Takes the code of the address, if there is one, and asks who is signed in. May be called again after it has thrown. */
export async function begin(): Promise<void> {
  code ??= codeOf(location.hash);
  if (code !== null) {
    history.replaceState(history.state, '', location.pathname + location.search);
    before ??= (await found())?.subject_id ?? null;
    await call('POST', path, { code }).catch((error: unknown) => {
      // A server that has no time may have it soon.
      if (!(error instanceof Refused) || error.status === 429 || error.status >= 500) throw error;
      endedWhy.value = 'This link was used already, or it is older than a minute. Ask for a new one, or sign in with a token.';
    });
    code = null;
  }
  await look();
  // By a link, or on the way back from the identity provider, somebody else may be signed in now.
  if (session.value) tabs.postMessage('changed');
  if (before !== null && session.value && before !== me()) replaced.value = before;
}

/** The browser only changes the address, without loading the page, when a link of it is opened in its own tab. */
export function heedLinks(): void {
  addEventListener('hashchange', () => {
    if (codeOf(location.hash) !== null) location.reload();
  });
}

export const codeOf = (hash: string): string | null => /^#code=([\w-]{20,100})$/.exec(hash)?.[1] ?? null;

async function look(): Promise<void> {
  session.value = await found();
  if (session.value !== null) endedWhy.value = null;
}

/** Reads the session and its rights again. An answer that arrives after sign-out is dropped. */
export async function lookAgain(): Promise<void> {
  const now = await found();
  const last = session.peek();
  if (!last || JSON.stringify(now) === JSON.stringify(last)) return;
  if (now !== null && now.subject_id !== last.subject_id) replaced.value = last.subject_id;
  session.value = now;
}

/** The tabs of a browser share its session: each tells the others when it has changed it. */
const tabs = new BroadcastChannel('svc.session');
tabs.onmessage = ({ data }: MessageEvent<'changed' | 'signed out'>) => {
  if (data === 'signed out') signedOut();
  // A page that asks for a sign-in has none to compare with.
  else void (session.peek() === null ? look() : lookAgain()).catch(() => undefined);
};

async function found(): Promise<Session | null> {
  try {
    return (await call('GET', path)) as Session;
  } catch (error) {
    if (!(error instanceof Refused) || (error.status !== 401 && error.status !== 403)) throw error;
    // Whoever has lost all roles is no longer let in, though the session lives.
    if (error.status === 403) endedWhy.value = `The gateway refuses this session: ${error.message}.`;
    return null;
  }
}

export async function signIn(token: string): Promise<void> {
  await call('POST', path, { token });
  tabs.postMessage('changed');
  await look();
}

export async function signOut(): Promise<void> {
  await call('DELETE', path);
  tabs.postMessage('signed out');
  signedOut();
}

function signedOut(): void {
  session.value = null;
  sessionStorage.clear();
  replaced.value = null;
  endedWhy.value = 'You are signed out.';
}

effect(() => {
  if (endedSessions.value === 0 || !session.peek()) return;
  session.value = null;
  endedWhy.value = 'Your session has ended. Sign in again; this page stays where it is.';
});

/** Whether the caller holds a permission somewhere, whatever it covers. */
export const may = (permission: string): boolean =>
  session.value?.permissions.some((held) => held === '*' || held === permission || held.startsWith(`${permission}:`)) ?? false;

/** Whether it holds for the objects of everybody. */
export const mayForAll = (permission: string): boolean =>
  session.value?.permissions.some((held) => held === '*' || held === `${permission}:any`) ?? false;

/** Whether the caller may make requests. */
export const mayAsk = (): boolean => ['request.query', 'request.dml', 'request.ddl'].some(may);

export const me = (): string => who.value ?? '';
