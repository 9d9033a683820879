import { z } from 'zod';
import { noSuchPath } from '../../domain/errors.js';
import { isUuid } from '../../lib/uuid.js';
import { consoleFiles, pageReply } from '../console/page.js';
import { requestParams } from '../http/fields.js';
import { plainPage } from '../http/plain-page.js';
import { text } from '../http/reply.js';
import { route } from '../http/route.js';

/** The target of links in messages. It says how to see the request, and nothing about it: whoever opens it has presented no credential. */
const pageOf = (id: string) =>
  plainPage(
    `Request ${id.slice(0, 8)}`,
    `<p>See what it runs, where, and who approves it:</p>
<pre>svc request show ${id}</pre>
<p>Approve it:</p>
<pre>svc request approve ${id}</pre>
<p>Reject it:</p>
<pre>svc request reject ${id} --comment "..."</pre>
`,
  );

export const linkPageRoute = route({
  operationId: 'requestPage',
  method: 'get',
  path: '/console/requests/:id',
  summary: 'The page that messages link to',
  description:
    'The page of the web console; without a console a page that says how to see and decide a request and reveals nothing about it.',
  tag: 'requests',
  access: 'public',
  params: requestParams,
  status: 200,
  response: z.string(),
  mediaTypes: ['text/html'],
  errors: ['route.not_found'],
  handle({ params: { id }, sender: { request } }, services) {
    if (consoleFiles(services) !== null) return pageReply(services, request);
    if (!isUuid(id)) throw noSuchPath();
    return text('text/html; charset=utf-8', pageOf(id));
  },
});
