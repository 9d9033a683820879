import { effect, signal } from '@preact/signals';
import { isAway } from '../http/reach.js';
import { lookAgain, me } from './session.js';
import { type News, shareStream } from './stream.js';

/** One committed change of a request (CO-20). */
export interface Change {
  id: string;
  pending_for_me: boolean;
}

/** Null stands for: anything may have changed. */
type Listener = (change: Change | null) => void;

/** Whether changes come by themselves; otherwise everything is asked for again every 10 s (CO-21). */
export const isLive = signal(false);

const askEveryMs = 10_000;
/** The server says every 15 s that it lives. A stream that is silent for longer is dead, which the browser notices late or never, as after a sleep. */
const silentMs = 40_000;
const listeners = new Set<Listener>();

/** Calls `listener` at each change until the answered function is called. */
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const tell = (change: Change | null) => {
  for (const listener of listeners) listener(change);
  // What the user may do may have changed too, and so what is offered.
  if (change === null) void lookAgain().catch(() => undefined);
};

function heed({ name, data }: News): void {
  if (name === 'open') isAway.value = false;
  // It begins with `resync`.
  if (name === 'resync') tell(null);
  if (name === 'request') tell(JSON.parse(data) as Change);
  // The session may have ended, so check it.
  if (name === 'refused') void lookAgain().catch(() => undefined);
}

/** False while the browser keeps the page aside for the way back. There it would keep the stream from the other tabs, without hearing anything. */
const isThere = signal(true);

/** Follows the changes while somebody is signed in. Called once. */
export function follow(): void {
  addEventListener('pagehide', () => {
    isThere.value = false;
  });
  addEventListener('pageshow', ({ persisted }) => {
    isThere.value = true;
    if (persisted) tell(null);
  });
  effect(() => (me() === '' || !isThere.value ? undefined : followAs(me())));
}

function followAs(user: string): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(silent, silentMs);
  };
  // The browser reports each of its attempts that fails, so the timer must not be restarted.
  const lost = () => {
    isLive.value = false;
    timer ??= setTimeout(again, askEveryMs);
  };
  const again = () => {
    timer = undefined;
    stream.mend();
    tell(null);
    if (!isLive.value) lost();
  };
  const silent = () => {
    heard();
    stream.anew();
    lost();
    tell(null);
  };
  const hear = (news: News) => {
    if (news.name === 'error' || news.name === 'refused') lost();
    else {
      heard();
      isLive.value = true;
    }
    heed(news);
  };
  const stream = shareStream(user, hear);
  heard();
  return () => {
    stream.stop();
    clearTimeout(timer);
    clearTimeout(silence);
    isLive.value = false;
  };
}
