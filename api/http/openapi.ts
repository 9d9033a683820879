import { z } from 'zod';
import { type ErrorCode, reasons } from '../../domain/errors.js';
import { httpStatus } from '../../runtime/http-errors.js';
import type { Route } from './route.js';
import { tags } from './tags.js';

type Json = Record<string, unknown>;

/** Codes that any call with a credential can get (HT-3 to HT-8, section 9), in addition to those that its route declares. */
const credentialErrors: readonly ErrorCode[] = [
  'auth.missing_token',
  'auth.invalid_token',
  'auth.token_expired',
  'auth.user_suspended',
  'auth.oidc_not_configured',
  'auth.no_roles_resolved',
  'auth.insufficient_scope',
  'auth.forbidden',
];
const bodyErrors: readonly ErrorCode[] = ['validation.failed', 'validation.unsupported_media_type', 'payload.too_large'];
const anyErrors: readonly ErrorCode[] = ['service.unavailable', 'internal'];

const about = `Every call but a few takes \`Authorization: Bearer <token>\`. An answer of status 400 and above is an object with \`error\`, \`code\` and \`hint\`; decide by \`code\`.
Roles, policies and webhooks are read here and managed in \`server.toml\`: writing to their paths is 405 \`config.read_only\`.`;

/** The OpenAPI 3.1 document of the mounted routes (HT-98). */
export function openApiDocument(routes: readonly Route[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) pathItem(paths, route.path)[route.method] = operation(route);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Database Change Gateway',
      version,
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API token `svc_…`' } },
      schemas: { Error: errorSchema },
    },
  };
}

const errorSchema = {
  type: 'object',
  required: ['error', 'code', 'hint'],
  properties: {
    error: { type: 'string' },
    code: { type: 'string' },
    hint: { type: ['string', 'null'] },
    reason: { enum: reasons, description: 'What a code with several meanings means here; absent where the code says it all.' },
  },
};

function pathItem(paths: Record<string, Json>, template: string): Json {
  const path = openApiPath(template);
  paths[path] ??= {};
  return paths[path];
}

const openApiPath = (template: string) => template.replace(/:([A-Za-z_]+)/g, '{$1}');

function operation(route: Route): Json {
  const isPublic = route.access === 'public';
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: accessText(route),
    tags: [route.tag],
    ...(isPublic ? { security: [] } : {}),
    ...optional('parameters', [...pathParameters(route.path), ...queryParameters(route.query)]),
    ...requestBody(route),
    responses: { ...successes(route), ...failures(errorsOf(route)) },
  };
}

function accessText({ access }: Route): string {
  if (access === 'public') return 'No credential needed.';
  if (access === 'agent') return 'Needs an agent token.';
  if (access === 'authenticated') return 'Needs any user credential.';
  if (typeof access === 'string') return `Needs permission \`${access}\`.`;
  const names = access.anyOf.map((name) => `\`${name}\``);
  const needed = names.length === 1 ? `permission ${names[0]}` : `one of the permissions ${names.join(', ')}`;
  return `Needs ${needed}${access.unless === undefined ? '' : `; with \`${access.unless}\` any user credential`}.`;
}

const optional = (key: string, list: unknown[]) => (list.length === 0 ? {} : { [key]: list });

const pathParameters = (template: string): Json[] =>
  [...template.matchAll(/:([A-Za-z_]+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

function queryParameters(query: z.ZodType | undefined): Json[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(query, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function requestBody({ body, form, rawJson, documentedBody, bodyOptional }: Route): Json {
  if (form !== undefined)
    return {
      requestBody: { required: true, content: { 'application/x-www-form-urlencoded': { schema: schemaOf(form, 'input') } } },
    };
  if (rawJson !== undefined)
    return { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(rawJson, 'input') } } } };
  if (body === undefined) return {};
  const schema = schemaOf(documentedBody ?? body, 'input');
  return { requestBody: { required: !bodyOptional, content: { 'application/json': { schema } } } };
}

function successes(route: Route): Json {
  const schema = schemaOf(route.response, 'output');
  const contentType = schema.description === 'not JSON' ? 'text/plain' : 'application/json';
  const statuses: number[] = [route.status, ...(route.alsoStatuses ?? [])];
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      status === 204
        ? { description: 'Time is up, nothing to show' }
        : { description: 'Success', content: { [contentType]: { schema } } },
    ]),
  );
}

function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(anyErrors);
  const add = (more: readonly ErrorCode[]) => {
    for (const code of more) codes.add(code);
  };
  if (route.access !== 'public') add(credentialErrors);
  if (route.unlimited !== true) add(['rate.limited']);
  if (route.body !== undefined || route.form !== undefined || route.rawJson !== undefined) add(bodyErrors);
  if (route.query !== undefined || route.params !== undefined) add(['validation.failed']);
  add(route.errors);
  return [...codes];
}

/** One entry per status, listing its codes. */
function failures(codes: readonly ErrorCode[]): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) byStatus.set(httpStatus(code), [...(byStatus.get(httpStatus(code)) ?? []), code]);
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [
      status,
      {
        description: list
          .toSorted()
          .map((code) => `\`${code}\``)
          .join(', '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  );
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' });
  return rest;
}
