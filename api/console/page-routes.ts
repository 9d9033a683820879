import { z } from 'zod';
import { text } from '../http/fields.js';
import { type Route, route } from '../http/route.js';
import { assetReply, pageHeaders, pageReply, partReply, redirectToSlash } from './page.js';

const part = text('A part of the address that the page shows.', { maxLength: 1024 });

const shared = {
  method: 'get',
  tag: 'console',
  access: 'public',
  isPage: true,
  headersFor: () => pageHeaders,
  status: 200,
  response: z.string(),
  mediaTypes: ['text/html'],
  errors: ['route.not_found'],
} as const;

const aboutParts = 'A browser that goes to an address of the console gets its page, which shows what the address names.';

/** `/console` (console.md section 1). */
export const pageRoutes: Route[] = [
  route({
    ...shared,
    operationId: 'leadToConsole',
    path: '/console',
    summary: 'Redirect a browser to the web console',
    status: 302,
    mediaTypes: [],
    handle: (_call, services) => redirectToSlash(services),
  }),
  route({
    ...shared,
    operationId: 'showConsole',
    path: '/console/',
    summary: 'The web console',
    handle: ({ sender: { request } }, services) => pageReply(services, request),
  }),
  route({
    ...shared,
    operationId: 'showConsolePage',
    path: '/console/:page',
    summary: 'A page of the web console',
    description: aboutParts,
    params: z.object({ page: part }),
    handle: ({ sender: { request } }, services) => partReply(services, request),
  }),
  route({
    ...shared,
    operationId: 'showConsoleItem',
    path: '/console/:page/:item',
    summary: 'A page of the web console about one thing',
    description: aboutParts,
    params: z.object({ page: part, item: part }),
    handle: ({ sender: { request } }, services) => partReply(services, request),
  }),
  route({
    ...shared,
    operationId: 'readConsoleFile',
    path: '/console/assets/:file',
    summary: 'A file of the web console',
    description: 'Its name holds a hash of its content, so a browser may keep it for ever.',
    mediaTypes: ['text/javascript', 'text/css', 'image/svg+xml'],
    params: z.object({ file: text('The name of the file.', { maxLength: 255 }) }),
    handle: ({ params: { file }, sender: { request } }, services) => assetReply(services, file, request),
  }),
];
