import { writeFileSync } from 'node:fs';
import { withClient } from './database-client.js';

/** Writes the public keys that may sign, one a line, for the agent to pin (HD-80): read where they are kept, not from the server that they are to be checked against. */
export async function writeTrustedKeys(databaseUrl: string, file: string): Promise<void> {
  const keys = await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ key: string }>(
      `select public_key as key from signing_keys where purpose = 'execution_token' and status in ('next', 'current', 'retiring') order by created_at desc`,
    );
    return rows.map(({ key }) => key);
  });
  writeFileSync(file, `${keys.join('\n')}\n`, { mode: 0o600 });
}
