import { z } from 'zod';
import { leadToConsole } from '../console/page.js';
import { plainPage } from '../http/plain-page.js';
import { text } from '../http/reply.js';
import { route } from '../http/route.js';

const page = plainPage(
  'Database Change Gateway',
  `<p>SQL statements and migrations reach the databases behind this gateway once the people who must approve them have done so.</p>
<p>Work with it on the command line. Set <code>SVC_SERVER_URL</code> to the address of this page, and <code>SVC_TOKEN</code> to the token that an administrator gave you:</p>
<pre>svc whoami</pre>
<p>See which databases there are, ask for your first statement on one of them, and see what became of it:</p>
<pre>svc databases</pre>
<pre>svc execute "select 1" -d DATABASE -e ENVIRONMENT --reason "trying it"</pre>
<pre>svc request list</pre>
<p>Programs use the <a href="docs">API</a>. Its page needs the same token, unless this gateway shows it to everybody.</p>
`,
);

/** The page for a browser at the server's own address. It needs no credential and reveals nothing of this gateway. */
export const startPageRoute = route({
  operationId: 'startPage',
  method: 'get',
  path: '/',
  summary: 'The page for a browser',
  description: 'Redirects a browser to the web console; without a console it explains what this is and how to begin.',
  tag: 'operations',
  access: 'public',
  status: 200,
  alsoEmpty: { 302: 'It is elsewhere.' },
  response: z.string(),
  mediaTypes: ['text/html'],
  errors: [],
  handle: ({ sender: { request } }, services) => leadToConsole(services, request) ?? text('text/html; charset=utf-8', page),
});
