import { useEffect, useState } from 'preact/hooks';
import { Banner } from '../frame/banner.js';
import { answer, api } from '../http/client.js';
import { Field } from '../parts/field.js';
import { Problem } from '../parts/problem.js';
import { endedWhy, signIn } from '../state/session.js';
import { pageTitle } from '../state/title.js';

/** Asks who comes. The address stays, so that a link to a request leads there after it. */
export function SignIn() {
  useEffect(() => {
    pageTitle.value = 'Sign in';
  }, []);
  return (
    <main class="sign-in">
      <Banner />
      <div class="card">
        <p class="brand">
          <span class="mark" aria-hidden="true" />
          <span>Change Gateway</span>
        </p>
        <h1>Sign in</h1>
        {endedWhy.value !== null && (
          <p class="note" role="status">
            {endedWhy.value}
          </p>
        )}
        <ByProvider />
        <ByToken />
      </div>
    </main>
  );
}

function ByToken() {
  const [token, setToken] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsBusy(true);
    setError(null);
    await signIn(token.trim()).catch(setError);
    setIsBusy(false);
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Field
        label="API token"
        hint="Your own token. It is sent once and not kept in the browser; svc console opens this page without it."
      >
        {(id, hint) => (
          <input
            id={id}
            aria-describedby={hint}
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        )}
      </Field>
      <Problem error={error} />
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy || token.trim() === ''}>
          {isBusy ? 'Signing in …' : 'Sign in'}
        </button>
      </div>
    </form>
  );
}

/** Offered where the gateway knows an identity provider (CO-14). */
function ByProvider() {
  const [isThere, setIsThere] = useState(false);
  useEffect(() => {
    answer(api.GET('/api/console/sign-in')).then(
      ({ oidc }) => setIsThere(oidc),
      () => setIsThere(false),
    );
  }, []);
  if (!isThere) return null;
  const query = new URLSearchParams({ return_to: location.pathname + location.search });
  return (
    <a class="button primary" href={`/api/console/oidc/start?${query}`}>
      Sign in at your identity provider
    </a>
  );
}
