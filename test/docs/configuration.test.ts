import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { agentKeysFile, withCurrentAgentKeys } from '../../agent/keys-file.js';
import { keysFile, withCurrentKeys } from '../../config/keys-file.js';

it('docs/configuration.md has the keys of the schema (npx tsx config/keys-file.ts writes them)', () => {
  const page = readFileSync(keysFile, 'utf8');
  expect(page).toContain('| `state_dir` | string | required | – |');
  expect(withCurrentKeys(page)).toBe(page);
});

it('docs/agent.md has the keys of the schema (npx tsx agent/keys-file.ts writes them)', () => {
  const page = readFileSync(agentKeysFile, 'utf8');
  expect(page).toContain('| `server.url` | string |');
  expect(withCurrentAgentKeys(page)).toBe(page);
});
