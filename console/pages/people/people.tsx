import { useLocation } from 'preact-iso/router';
import { Page } from '../../parts/page.js';
import { may } from '../../state/session.js';
import { Groups } from './groups.js';
import { Roles } from './roles.js';
import { Tokens } from './tokens.js';
import { Users } from './users.js';

const parts = [
  { key: 'users', name: 'Users', isOffered: () => may('user.read'), part: Users },
  { key: 'groups', name: 'Groups', isOffered: () => may('user.read'), part: Groups },
  { key: 'roles', name: 'Roles', isOffered: () => may('workflow.read'), part: Roles },
  { key: 'tokens', name: 'Tokens', isOffered: () => true, part: Tokens },
] as const;

/** Who may do what. Everybody sees at least their own tokens. */
export function People() {
  const { query } = useLocation();
  const offered = parts.filter(({ isOffered }) => isOffered());
  const shown = offered.find(({ key }) => key === query.show) ?? offered[0];
  if (shown === undefined) return null;
  const { part: Part, key: shownKey } = shown;
  return (
    <Page title="People">
      <nav class="tabs" aria-label="People">
        {offered.map(({ key, name }) => (
          <a key={key} href={`/console/people?show=${key}`} aria-current={key === shownKey ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <Part />
    </Page>
  );
}
