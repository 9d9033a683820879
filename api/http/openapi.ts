import type { z } from 'zod';
import { accessText } from './openapi-access.js';
import { errorSchema, failures, retryAfter } from './openapi-errors.js';
import { type Json, type NamedSchemas, namedSchemas } from './openapi-schemas.js';
import type { Route } from './route.js';
import { tags } from './tags.js';

const about = `An answer of status 400 and above is an object with \`error\`, \`code\` and \`hint\`; decide by \`code\`. Unknown fields of a body change nothing.
Roles, policies and webhooks are read here and managed in \`server.toml\`: writing to their paths is 405 \`config.read_only\`.`;

/** The OpenAPI 3.1 document of the mounted routes (HT-98). */
export function openApiDocument(mounted: readonly Route[], version: string): Json {
  const routes = mounted.filter(({ isPage }) => isPage !== true);
  const named = namedSchemas();
  const answers = new Map(routes.map((route) => [route, successes(route, named)]));
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:([A-Za-z_]+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: operation(route, named, answers.get(route) ?? {}) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Database Change Gateway',
      version,
      description: about,
      contact: { name: 'The operators of this gateway' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that shows this document.' }],
    security: [{ user: [] }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        user: {
          type: 'http',
          scheme: 'bearer',
          description: 'The API token of a user, `svc_…`, or a token of the identity provider.',
        },
        agent: { type: 'http', scheme: 'bearer', description: 'The API token of an agent, `svc_…`.' },
      },
      headers: { RetryAfter: retryAfter },
      schemas: Object.fromEntries(Object.entries({ ...named.components, Error: errorSchema(routes) }).toSorted(byName)),
    },
  };
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1);

function operation(route: Route, named: NamedSchemas, answers: Json): Json {
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: route.description === undefined ? accessText(route) : `${route.description}\n\n${accessText(route)}`,
    tags: [route.tag],
    ...security(route),
    ...optional('parameters', [
      ...parameters('path', route.params, named),
      ...parameters('query', route.query, named),
      ...parameters('header', route.documentedHeaders, named),
    ]),
    ...requestBody(route, named),
    responses: { ...answers, ...failures(route) },
  };
}

function security({ access, openWhen }: Route): Json {
  if (access === 'public') return { security: [] };
  if (access === 'agent') return { security: [{ agent: [] }] };
  return openWhen === undefined ? {} : { security: [{ user: [] }, {}] };
}

const optional = (key: string, list: unknown[]) => (list.length === 0 ? {} : { [key]: list });

function parameters(place: 'path' | 'query' | 'header', schema: z.ZodType | undefined, named: NamedSchemas): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = named.refer(schema, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: required.includes(name),
    description,
    schema: rest,
  }));
}

function requestBody({ body, form, rawJson, documentedBody, bodyOptional, examples }: Route, { refer }: NamedSchemas): Json {
  const schema = form ?? rawJson ?? documentedBody ?? body;
  if (schema === undefined) return {};
  const mediaType = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
  const content = { [mediaType]: { schema: refer(schema, 'input'), ...example(examples?.body) } };
  return { requestBody: { required: bodyOptional !== true, content } };
}

const example = (value: unknown) => (value === undefined ? {} : { example: value });

function successes(route: Route, { refer }: NamedSchemas): Json {
  const statuses: number[] = [route.status, ...(route.alsoStatuses ?? [])];
  const empty = Object.entries(route.alsoEmpty ?? {}).map(([status, description]) => [status, { description }]);
  return Object.fromEntries([...statuses.map((status) => [status, success(route, status, refer)]), ...empty]);
}

function success(route: Route, status: number, refer: NamedSchemas['refer']): Json {
  const { response, mediaTypes = ['application/json'], examples } = route;
  if (status === 204 || mediaTypes.length === 0) return { description: 'Done; the answer is empty.' };
  const content = mediaTypes.map((type) => [type, { schema: schemaFor(type, response, refer), ...example(examples?.answer) }]);
  return { description: descriptions[status], content: Object.fromEntries(content) };
}

const descriptions: Record<number, string> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted; it is not finished yet.',
};

/** Anything but JSON is described as a string. */
const schemaFor = (mediaType: string, response: z.ZodType, refer: NamedSchemas['refer']): Json =>
  mediaType === 'application/json' ? refer(response, 'output') : { type: 'string' };
