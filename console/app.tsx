import { LocationProvider, Route, Router } from 'preact-iso/router';
import { Banner } from './frame/banner.js';
import { Frame } from './frame/frame.js';
import { Agents } from './pages/agents.js';
import { Audit } from './pages/audit.js';
import { Databases } from './pages/databases.js';
import { Health } from './pages/health/health.js';
import { Inbox } from './pages/inbox/inbox.js';
import { NewRequest } from './pages/new/new.js';
import { NotFound } from './pages/not-found.js';
import { People } from './pages/people/people.js';
import { RequestPage } from './pages/request/request.js';
import { Requests } from './pages/requests.js';
import { SignIn } from './pages/sign-in.js';
import { Webhooks } from './pages/webhooks.js';
import { me, session } from './state/session.js';

/** Each page has its own address, which can be sent to a colleague. Nothing of it is left when another user is signed in. */
export function App() {
  if (session.value === undefined) return <Banner />;
  if (session.value === null) return <SignIn />;
  return (
    <LocationProvider scope="/console" key={me()}>
      <Frame>
        <Router>
          <Route path="/console" component={Inbox} />
          <Route path="/console/new" component={NewRequest} />
          <Route path="/console/requests" component={Requests} />
          <Route path="/console/requests/:id" component={RequestPage} />
          <Route path="/console/databases" component={Databases} />
          <Route path="/console/audit" component={Audit} />
          <Route path="/console/agents" component={Agents} />
          <Route path="/console/webhooks" component={Webhooks} />
          <Route path="/console/people" component={People} />
          <Route path="/console/health" component={Health} />
          <Route default component={NotFound} />
        </Router>
      </Frame>
    </LocationProvider>
  );
}
