const said = ['open', 'request', 'resync', 'alive'] as const;

/** What the stream of changes says (CO-20). Behind `error` the browser tries again by itself; behind `refused` it does not. */
export interface News {
  name: (typeof said)[number] | 'error' | 'refused';
  data: string;
}

export interface Stream {
  /** Opens it again if it was refused. */
  mend(): void;
  /** Opens it again, whatever the browser thinks of it. */
  anew(): void;
  stop(): void;
}

/**
 * The stream of changes of a user. A browser has six connections to a server that speaks HTTP/1.1, for all its tabs, and a stream takes one as long as it is
 * open: with one in each tab, six tabs would leave none for any call. So one tab has the stream and passes on what it hears.
 */
export function shareStream(user: string, hear: (news: News) => void): Stream {
  const name = `svc.events ${user}`;
  const tabs = new BroadcastChannel(name);
  let source: EventSource | undefined;
  const pass = (news: News) => {
    tabs.postMessage(news);
    hear(news);
  };
  const open = () => {
    source?.close();
    source = openSource(pass);
  };
  tabs.onmessage = ({ data }: MessageEvent<News | typeof question>) => {
    if (data !== question) hear(data);
    else if (source?.readyState === EventSource.OPEN) tabs.postMessage({ name: 'alive', data: '' } satisfies News);
  };
  tabs.postMessage(question);
  const leave = whenAlone(name, open);
  return {
    mend: () => source?.readyState === EventSource.CLOSED && open(),
    anew: () => source !== undefined && open(),
    stop: () => {
      leave();
      tabs.close();
      source?.close();
    },
  };
}

/** Asked by a tab that was opened after the stream. */
const question = 'is it open?';

function openSource(tell: (news: News) => void): EventSource {
  const source = new EventSource('/api/events');
  for (const name of said)
    source.addEventListener(name, (event) => tell({ name, data: (event as MessageEvent<string>).data ?? '' }));
  source.addEventListener('error', () =>
    tell({ name: source.readyState === EventSource.CLOSED ? 'refused' : 'error', data: '' }),
  );
  return source;
}

/** Calls `begin` as soon as no other tab has begun. When this one is closed, or calls what is returned, it is another's turn. */
function whenAlone(name: string, begin: () => void): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const untilEnded = () =>
    new Promise<void>((resolve) => {
      if (signal.aborted) return resolve();
      signal.addEventListener('abort', () => resolve());
      begin();
    });
  navigator.locks.request(name, { signal }, untilEnded).catch(() => undefined);
  return () => ended.abort();
}
