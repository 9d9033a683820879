import { writeFileSync } from 'node:fs';
import { withClient } from './database-client.js';

/**
 * Writes the public keys allowed to sign, one per line, for the agent to pin (HD-80). Reads them from where they are stored, not
 * from the server that they verify.
 */
export async function writeTrustedKeys(databaseUrl: string, file: string): Promise<void> {
  const keys = await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ key: string }>(
      `select public_key as key from signing_keys where purpose = 'execution_token' and status in ('next', 'current', 'retiring') order by created_at desc`,
    );
    return rows.map(({ key }) => key);
  });
  writeFileSync(file, `${keys.join('\n')}\n`, { mode: 0o600 });
}
