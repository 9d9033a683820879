import { z } from 'zod';
import { verifySignature } from '../crypto/ed25519.js';

/** What a plan allows; null = no limit (OP-40). There is no other table of limits. */
export const PLANS = {
  free: { maxUsers: 20, maxDatabases: 3, oidc: false },
  team: { maxUsers: 50, maxDatabases: 20, oidc: true },
} as const;

export interface License {
  keyId: string;
  plan: keyof typeof PLANS;
  issuedTo: string;
  issuedAt: Date;
  /** From this instant the plan in effect is `free` (OP-45). */
  expiresAt: Date;
  limits: { maxUsers: number | null; maxDatabases: number | null; oidc: boolean };
}

const limit = z.int().nonnegative().nullable().optional();
const payloadSchema = z.object({
  key_id: z.string(),
  plan: z.enum(['free', 'team']),
  issued_to: z.string(),
  issued_at: z.iso.datetime({ offset: true }),
  expires_at: z.iso.datetime({ offset: true }),
  limits: z.object({ max_users: limit, max_databases: limit }).optional(),
});

/** The content of a licence key whose signature fits the public key (64 hex), or one sentence why it is refused (OP-43). */
export function readLicense(key: string, publicKeyHex: string): License | string {
  const text = key.trim();
  const dot = text.lastIndexOf('.');
  const prefix = 'svc_lic_v1.';
  if (!text.startsWith(prefix) || dot < prefix.length) return 'is not a licence key';
  const payload = decode(text.slice(prefix.length, dot));
  const signature = decode(text.slice(dot + 1));
  if (payload === null || signature === null) return 'is not a licence key';
  if (!verifySignature(publicKeyHex, payload, Buffer.from(signature).toString('hex')))
    return 'has a signature that does not fit license.public_key';
  const parsed = payloadSchema.safeParse(parseJson(payload));
  return parsed.success ? toLicense(parsed.data) : 'holds no valid licence';
}

function toLicense({ plan, limits, ...payload }: z.output<typeof payloadSchema>): License {
  const own = PLANS[plan];
  return {
    keyId: payload.key_id,
    plan,
    issuedTo: payload.issued_to,
    issuedAt: new Date(payload.issued_at),
    expiresAt: new Date(payload.expires_at),
    limits: {
      maxUsers: limits?.max_users === undefined ? own.maxUsers : limits.max_users,
      maxDatabases: limits?.max_databases === undefined ? own.maxDatabases : limits.max_databases,
      oidc: own.oidc,
    },
  };
}

/** Only standard base64 with padding. */
function decode(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = Buffer.from(text, 'base64');
  return text !== '' && bytes.toString('base64') === text ? new Uint8Array(bytes) : null;
}

function parseJson(bytes: Uint8Array<ArrayBuffer>): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
