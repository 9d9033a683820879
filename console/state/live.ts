import { effect, signal } from '@preact/signals';
import { isAway } from '../http/reach.js';
import { lookAgain, me } from './session.js';

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

/** Follows the changes while somebody is signed in. Called once. */
export function follow(): void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  const close = () => {
    source?.close();
    clearTimeout(timer);
    clearTimeout(silence);
    timer = undefined;
    isLive.value = false;
  };
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(anew, silentMs);
  };
  const open = () => {
    close();
    source = new EventSource('/api/events');
    heard();
    for (const name of ['open', 'request', 'resync', 'alive']) source.addEventListener(name, heard);
    source.addEventListener('request', (event: MessageEvent<string>) => tell(JSON.parse(event.data) as Change));
    source.addEventListener('resync', () => tell(null));
    // It begins with `resync`.
    source.addEventListener('open', () => {
      isLive.value = true;
      isAway.value = false;
    });
    // The browser reconnects by itself every few seconds and reports each failure, so the timer must not be restarted.
    source.addEventListener('error', () => {
      isLive.value = false;
      // The stream was refused: the session may have ended, so check it.
      if (source?.readyState === EventSource.CLOSED) void lookAgain().catch(() => undefined);
      timer ??= setTimeout(again, askEveryMs);
    });
  };
  const anew = () => {
    open();
    tell(null);
  };
  // The browser does not reconnect after a refusal.
  const again = () => {
    timer = undefined;
    if (source?.readyState === EventSource.CLOSED) open();
    tell(null);
    if (!isLive.value) timer ??= setTimeout(again, askEveryMs);
  };
  effect(() => (me() === '' ? close() : open()));
}
