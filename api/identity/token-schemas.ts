import { z } from 'zod';
import { flag, instant, list, named, text, userIdText, uuid } from '../http/fields.js';
import { ceiling, expiresAt, permissions, rolesOf, tokenId, tokenName } from './schemas.js';

const owner = {
  subject_id: userIdText('The user or agent that it is for.'),
  subject_type: z.enum(['user', 'agent']).meta({ description: 'Which of the two that is.' }),
};
/** Two names with a slash between them. */
export const agentScope = text('`database/environment`, each a name or `*`.', { maxLength: 127 });
const agentScopes = list(agentScope, 'Of agents: what the token may serve; null = everything.').nullable().optional();
const effective = {
  effective_roles: rolesOf('The roles that it has now.'),
  effective_permissions: permissions('What it may do now.'),
};

export const createdToken = named('CreatedToken', 'A token that was made.', {
  id: tokenId,
  token: text('The token. It is shown this once.'),
  prefix: text('How the token begins.'),
  ...owner,
  name: tokenName,
  scope_ceiling: ceiling,
  agent_scopes: agentScopes,
  ...effective,
  expires_at: expiresAt,
  warnings: z
    .array(z.enum(['unscoped', 'scope_not_registered']))
    .optional()
    .meta({
      description:
        '`unscoped`: this agent token may serve every database. `scope_not_registered`: a scope fits no database and environment of server.toml.',
    }),
});

const status = z.enum(['active', 'expired', 'revoked']).meta({ description: 'Whether it can be used.' });

const listedToken = named('Token', 'A token, without its value.', {
  id: tokenId,
  subject_type: owner.subject_type,
  subject_id: owner.subject_id,
  token_prefix: text('How the token begins.'),
  scope_ceiling: ceiling,
  agent_scopes: agentScopes,
  name: tokenName,
  status,
  provisioning_kind: z.enum(['initial', 'bootstrap', 'console']).nullable().meta({
    description: 'For the first token of a user, that of the first start, and the session of a browser; null for all others.',
  }),
  expires_at: expiresAt,
  created_at: instant('When it was made.'),
  revoked_at: instant('When it was revoked.').nullable(),
});

export const tokenList = named('TokenList', 'Tokens, newest first.', { tokens: list(listedToken, 'The tokens.') });

export const revokedToken = named('RevokedToken', 'A token that was revoked.', {
  id: tokenId,
  revoked_at: instant('When it was revoked.'),
});

export const inspectedToken = named('TokenDetails', 'What a token may do.', {
  id: tokenId,
  ...owner,
  name: tokenName,
  scope_ceiling: ceiling,
  agent_scopes: agentScopes,
  resolved_roles: rolesOf('The roles of its subject.'),
  ...effective,
  status,
  expires_at: expiresAt,
});

export const reissued = named('ReissuedToken', 'An initial token that was replaced.', {
  reissued_token_id: uuid('The new token.'),
  reissued_at: instant('When it was made.'),
  revoked_old_token_id: uuid('The token before, which is revoked.').nullable(),
  delivery_status: z
    .enum(['delivered', 'failed', 'not_configured'])
    .meta({ description: 'Whether Slack gave the new token to the user.' }),
  delivery_channel: z.literal('slack_dm').nullable().meta({ description: 'How it was delivered.' }),
  token: text('The new token, if it was not delivered. It is shown this once.').nullable(),
  manual_recovery_required: flag('True if you must hand the token over.'),
});
