import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { visible } from '../../lib/visible.js';
import { Problem } from '../parts/problem.js';
import { type Scheme, scheme, schemes } from '../state/appearance.js';
import { isLive } from '../state/live.js';
import { may, mayAsk, session, signOut } from '../state/session.js';
import { waiting } from '../state/title.js';

interface Place {
  path: string;
  name: string;
  /** Whether the caller may see it; the server decides again. */
  isOffered: () => boolean;
}

const always = () => true;

const groups: readonly { name: string; places: readonly Place[] }[] = [
  {
    name: 'Requests',
    places: [
      { path: '/console/', name: 'Inbox', isOffered: always },
      { path: '/console/requests', name: 'All requests', isOffered: () => may('request.view') },
      { path: '/console/new', name: 'New request', isOffered: mayAsk },
    ],
  },
  {
    name: 'Look up',
    places: [
      { path: '/console/databases', name: 'Databases', isOffered: () => may('request.view') },
      { path: '/console/audit', name: 'Audit', isOffered: () => may('audit.read') },
      { path: '/console/people', name: 'People', isOffered: always },
    ],
  },
  {
    name: 'Operate',
    places: [
      { path: '/console/health', name: 'Health', isOffered: () => may('metrics.view') },
      { path: '/console/agents', name: 'Agents', isOffered: () => may('metrics.view') },
      { path: '/console/webhooks', name: 'Webhooks', isOffered: () => may('workflow.read') },
    ],
  },
];

const isAt = (here: string, path: string) => {
  const there = path.replace(/\/$/, '');
  return here === there || (there !== '/console' && here.startsWith(`${there}/`));
};

export function Navigation({ onKeys }: { onKeys: () => void }) {
  const { path } = useLocation();
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (menu.current) menu.current.open = false;
  }, [path]);
  return (
    <header class="side">
      <a class="brand" href="/console/">
        <span class="mark" aria-hidden="true" />
        <span>Change Gateway</span>
      </a>
      <details class="menu" ref={menu}>
        <summary>Menu{waiting.value > 0 && <span class="count">{waiting.value}</span>}</summary>
        <Places here={path} />
        <Self onKeys={onKeys} />
      </details>
      <div class="open-side">
        <Places here={path} />
        <Self onKeys={onKeys} />
      </div>
    </header>
  );
}

function Places({ here }: { here: string }) {
  return (
    <nav aria-label="Pages">
      {groups.map(({ name, places }) => {
        const offered = places.filter(({ isOffered }) => isOffered());
        if (offered.length === 0) return null;
        return (
          <div key={name}>
            <p class="group">{name}</p>
            <ul>
              {offered.map((place) => (
                <li key={place.path}>
                  <a href={place.path} aria-current={isAt(here, place.path) ? 'page' : undefined}>
                    {place.name}
                    {place.name === 'Inbox' && waiting.value > 0 && (
                      <span class="count" title="waiting for your decision">
                        {waiting.value}
                      </span>
                    )}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

const schemeNames: Record<Scheme, string> = { system: 'as the system', light: 'light', dark: 'dark' };

function Colours() {
  return (
    <label>
      <span>Colours</span>
      <select
        value={scheme.value}
        onChange={(event) => {
          scheme.value = event.currentTarget.value as Scheme;
        }}
      >
        {schemes.map((one) => (
          <option key={one} value={one}>
            {schemeNames[one]}
          </option>
        ))}
      </select>
    </label>
  );
}

function Self({ onKeys }: { onKeys: () => void }) {
  const name = session.value?.display_name ?? session.value?.subject_id;
  const [error, setError] = useState<Error | null>(null);
  return (
    <div class="self">
      <p>
        <strong>
          <bdi>{visible(name ?? '')}</bdi>
        </strong>
        <span class="live" data-live={isLive.value}>
          {isLive.value ? 'live' : 'asks every 10 s'}
        </span>
      </p>
      <Colours />
      <div class="actions">
        <button type="button" class="small" onClick={onKeys}>
          Keys
        </button>
        <button type="button" class="small" onClick={() => void signOut().catch(setError)}>
          Sign out
        </button>
      </div>
      <Problem error={error} />
      <p class="quiet version">svc {session.value?.version}</p>
    </div>
  );
}
