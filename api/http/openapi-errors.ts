import { type ErrorCode, reasons } from '../../domain/errors.js';
import { httpStatus, maxErrorTextBytes } from '../../runtime/http-errors.js';
import type { Json } from './openapi-schemas.js';
import type { Route } from './route.js';

/** Codes that any call with a credential can get (HT-3 to HT-8, http.md section 9), in addition to those that its route declares. */
const credentialErrors: readonly ErrorCode[] = [
  'auth.missing_token',
  'auth.invalid_token',
  'auth.token_expired',
  'auth.user_suspended',
  'auth.oidc_not_configured',
  'auth.oidc_failed',
  'auth.no_roles_resolved',
  'auth.insufficient_scope',
  'auth.forbidden',
];
const bodyErrors: readonly ErrorCode[] = ['validation.unsupported_media_type', 'payload.too_large'];
/** What is wrong with the HTTP request itself counts too. */
const anyErrors: readonly ErrorCode[] = ['validation.failed', 'service.unavailable', 'internal'];
/** Of calls that no route serves. */
const otherErrors: readonly ErrorCode[] = ['route.not_found', 'route.method_not_allowed', 'config.read_only'];

/** HT-27. */
export const retryAfter = {
  description: 'Whole seconds until it makes sense to call again.',
  schema: { type: 'integer', minimum: 1 },
};

export const errorSchema = (routes: readonly Route[]) => ({
  type: 'object',
  description: 'Why a call was refused or failed.',
  required: ['error', 'code', 'hint'],
  properties: {
    error: {
      type: 'string',
      maxLength: maxErrorTextBytes,
      description: 'What went wrong, in one line for people. It may change.',
    },
    code: {
      type: 'string',
      enum: [...new Set([...otherErrors, ...routes.flatMap(errorsOf)])].toSorted(),
      description: 'What went wrong, for programs.',
    },
    hint: {
      type: ['string', 'null'],
      maxLength: maxErrorTextBytes,
      description: 'The place of the first wrong value, such as `body.share_with[2]`, or advice.',
    },
    reason: {
      type: 'string',
      enum: reasons,
      description: 'What a code with several meanings means here; absent where the code says it all.',
    },
  },
});

/** What a call can fail with: one entry per status, listing its codes. */
export function failures(route: Route): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(route)) byStatus.set(httpStatus(code), [...(byStatus.get(httpStatus(code)) ?? []), code]);
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [
      status,
      {
        description: list
          .toSorted()
          .map((code) => `\`${code}\``)
          .join(', '),
        ...([429, 503].includes(status) && { headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } }),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
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
  add(route.errors);
  return [...codes];
}
