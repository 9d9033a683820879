import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { signLicense } from '../../crypto/license-key.js';
import { clone, type Layout } from '../layout.js';
import type { DemoIdentity } from './provider.js';

const dayMs = 86_400_000;

/** The demo's `server.toml` with the provider in it, and the variables that it reads; a licence of its own allows logins (IM-30). */
export function withIdentity(
  layout: Layout,
  { issuer, clientId }: DemoIdentity,
): { serverConfig: string; environment: NodeJS.ProcessEnv } {
  const serverConfig = join(layout.run, 'server.toml');
  const parts = ['server.toml', 'oidc.toml'].map((name) => readFileSync(join(clone, 'dev', name), 'utf8'));
  writeFileSync(serverConfig, parts.join('\n'), { mode: 0o600 });
  const signer = signingKeyFromSeed(Uint8Array.from(randomBytes(32)));
  const instant = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  const license = JSON.stringify({
    key_id: 'lic-demo',
    plan: 'team',
    issued_to: 'the demo',
    issued_at: instant(Date.now()),
    expires_at: instant(Date.now() + 365 * dayMs),
  });
  return {
    serverConfig,
    environment: {
      SVC_LICENSE_KEY: signLicense(license, signer),
      SVC_DEV_LICENSE_PUBLIC_KEY: signer.publicKeyHex,
      SVC_DEV_OIDC_ISSUER: issuer,
      SVC_DEV_OIDC_CLIENT_ID: clientId,
    },
  };
}
